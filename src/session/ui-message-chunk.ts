/**
 * One chunk of a message for a chat front end, in the form of the AI SDK's UI message stream (version 6). Only fields
 * that every release of that version accepts are used, because the first releases reject unknown fields.
 */
export type UiMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: unknown }
  | { readonly type: 'start-step' }
  | { readonly type: 'finish-step' }
  | { readonly type: 'text-start'; readonly id: string }
  | { readonly type: 'text-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'text-end'; readonly id: string }
  | { readonly type: 'reasoning-start'; readonly id: string }
  | { readonly type: 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'reasoning-end'; readonly id: string }
  | UiToolChunk
  | UiDataChunk
  | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason?: UiFinishReason; readonly messageMetadata?: unknown }

/** The chunks of one tool call. */
export type UiToolChunk =
  | (ToolNamed & { readonly type: 'tool-input-start' })
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | (ToolNamed & { readonly type: 'tool-input-available'; readonly input: unknown })
  | (ToolNamed & { readonly type: 'tool-input-error'; readonly input: unknown; readonly errorText: string })
  /** `approvalId` is the id for `session.confirmToolUse`. */
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: unknown
      readonly dynamic?: boolean
      readonly preliminary?: boolean
    }
  | {
      readonly type: 'tool-output-error'
      readonly toolCallId: string
      readonly errorText: string
      readonly dynamic?: boolean
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }

/**
 * Custom data of Capstan. With an id, a later chunk replaces the earlier one; a transient chunk is shown and not
 * stored.
 */
export type UiDataChunk = {
  readonly type: `data-${string}`
  readonly id?: string
  readonly data: unknown
  readonly transient?: boolean
}

/** Why a message ended, as the AI SDK names it. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'

/** `dynamic`: the front end was not compiled with the tool's types. */
type ToolNamed = { readonly toolCallId: string; readonly toolName: string; readonly dynamic?: boolean }
