import type { ToolKind } from '../tool/contract.js'

/** The supported version of the protocol. */
export const protocolVersion = 1

export type WireText = { readonly type: 'text'; readonly text: string }
export type WireImage = { readonly type: 'image'; readonly data: string; readonly mimeType: string }
export type WireContent = WireText | WireImage

export type WireToolContent =
  | { readonly type: 'content'; readonly content: WireContent }
  | {
      readonly type: 'diff'
      readonly path: string
      readonly oldText?: string | null
      readonly newText: string
    }

export type WireLocation = { readonly path: string; readonly line?: number }
export type WireToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed'

export type WireToolCall = {
  readonly toolCallId: string
  readonly title?: string | undefined
  readonly name?: string | undefined
  readonly kind?: ToolKind | undefined
  readonly status?: WireToolStatus | undefined
  readonly content?: readonly WireToolContent[] | undefined
  readonly locations?: readonly WireLocation[] | undefined
  readonly rawInput?: unknown
  readonly rawOutput?: unknown
}

export type WireMode = { readonly id: string; readonly name: string; readonly description: string }
export type WireConfigOption = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly category: 'mode' | 'model' | 'thought_level'
  readonly type: 'select'
  readonly currentValue: string
  readonly options: readonly {
    readonly value: string
    readonly name: string
    readonly description?: string | undefined
  }[]
}
export type WireModes = { readonly currentModeId: string; readonly availableModes: readonly WireMode[] }

/** A change of a session, in the form of `session/update`. */
export type SessionUpdate =
  | {
      readonly sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk'
      readonly content: WireContent
      readonly messageId?: string | undefined
    }
  | ({ readonly sessionUpdate: 'tool_call'; readonly title: string } & WireToolCall)
  | ({ readonly sessionUpdate: 'tool_call_update' } & WireToolCall)
  | {
      readonly sessionUpdate: 'plan'
      readonly entries: readonly {
        readonly content: string
        readonly priority: 'high' | 'medium' | 'low'
        readonly status: 'pending' | 'in_progress' | 'completed'
      }[]
    }
  | {
      readonly sessionUpdate: 'available_commands_update'
      readonly availableCommands: readonly {
        readonly name: string
        readonly description: string
        readonly input?: { readonly hint: string } | undefined
      }[]
    }
  | { readonly sessionUpdate: 'current_mode_update'; readonly currentModeId: string }
  | { readonly sessionUpdate: 'config_option_update'; readonly configOptions: readonly WireConfigOption[] }
  | { readonly sessionUpdate: 'session_info_update'; readonly title: string; readonly updatedAt: string }
  | {
      readonly sessionUpdate: 'usage_update'
      readonly used: number
      readonly size: number
      readonly cost?: { readonly amount: number; readonly currency: 'USD' } | undefined
    }
  | {
      readonly sessionUpdate: 'notice'
      readonly severity: 'info' | 'warning' | 'error'
      readonly title: string
      readonly description?: string | undefined
    }
  | {
      readonly sessionUpdate: 'compaction_update'
      readonly compactionId: string
      readonly status: 'completed' | 'failed'
      readonly summary?: readonly WireContent[] | undefined
      readonly error?: string | undefined
    }

export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'
