import type { SessionLabels } from '../feature/labels.js'
import type { CallOrigin } from '../loop/gate-parts.js'

/**
 * What the answer of a hook can do. A hook on a `gate` event can stop what is about to happen, so its failure stops it
 * too. A hook on an `observe` event only observes: its errors are reported and ignored.
 */
export type HookPower = 'gate' | 'observe'

type EventFacts = {
  readonly power: HookPower
  /** The fields that `modified` can have, each with the field of the payload that it replaces. */
  readonly changes?: Readonly<Record<string, string>>
  /** What a matcher can match here, in addition to the session. */
  readonly about?: 'tool' | 'skill'
}

/** Every event, and what a hook can do there. */
const hookEvents = {
  pre_tool_use: { power: 'gate', changes: { updatedInput: 'args', args: 'args' }, about: 'tool' },
  post_tool_use: { power: 'observe', about: 'tool' },
  permission_request: { power: 'gate', about: 'tool' },
  on_confirmation: { power: 'observe', about: 'tool' },
  generate_start: { power: 'observe' },
  generate_end: { power: 'observe' },
  on_rate_limit: { power: 'observe' },
  session_start: { power: 'observe' },
  session_end: { power: 'observe' },
  skill_load: { power: 'observe', about: 'skill' },
  skill_unload: { power: 'observe', about: 'skill' },
  pre_prompt: { power: 'gate', changes: { prompt: 'prompt' } },
  post_response: { power: 'observe' },
  pre_planning: { power: 'gate', changes: { prompt: 'prompt' } },
  post_planning: { power: 'observe' },
  pre_compact: { power: 'gate' },
  post_compact: { power: 'observe' },
  on_error: { power: 'observe' },
  budget_threshold_hit: { power: 'observe' },
  passivation_requested: { power: 'observe' },
  peer_invocation: { power: 'observe' },
} as const satisfies Record<string, EventFacts>

/** The name of a hook event. */
export type HookEventName = keyof typeof hookEvents

/** The names of all hook events. */
export const hookEventNames = Object.keys(hookEvents) as readonly HookEventName[]

export function isHookEventName(name: unknown): name is HookEventName {
  return typeof name === 'string' && Object.hasOwn(hookEvents, name)
}

export function factsOf(event: HookEventName): EventFacts {
  return hookEvents[event]
}

export type HookUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly cache_read_tokens?: number
  readonly cache_write_tokens?: number
}

/** A tool call, as hooks see it. `args` are read-only: changing them in place blocks the call. */
export type ToolUsePayload = {
  readonly tool: string
  readonly args: unknown
  readonly working_directory: string
  readonly call_id?: string
  readonly origin?: CallOrigin
  /** The files that it touches, including the targets of links; absent when only the arguments are available. */
  readonly paths?: readonly string[]
  /** The commands that it runs; absent when only the arguments are available. */
  readonly commands?: readonly string[]
}

/** The payload of each event, without `session_id`, which every payload has. */
export type HookPayloads = {
  /** `recent_tools`: the names of the last calls that ended, oldest first. */
  readonly pre_tool_use: ToolUsePayload & { readonly recent_tools: readonly string[] }
  readonly post_tool_use: ToolUsePayload & {
    readonly result: {
      readonly success: boolean
      readonly output: string
      readonly exit_code: number
      readonly duration_ms: number
    }
  }
  /** Emitted before a user is asked. */
  readonly permission_request: ToolUsePayload & {
    readonly request_id: string
    readonly reasons: readonly string[]
  }
  /** Emitted after a user has answered. */
  readonly on_confirmation: ToolUsePayload & {
    readonly request_id: string
    readonly approved: boolean
    readonly decision: string
    readonly reason?: string
  }
  readonly generate_start: {
    readonly prompt: string
    readonly system_prompt: string
    readonly model_provider: string
    readonly model_name: string
    readonly available_tools: readonly string[]
  }
  readonly generate_end: {
    readonly prompt: string
    readonly model_provider: string
    readonly model_name: string
    readonly response_text: string
    readonly tool_calls: readonly { readonly id: string; readonly name: string; readonly input: string }[]
    readonly usage: HookUsage
    readonly duration_ms: number
  }
  readonly on_rate_limit: {
    readonly model_provider: string
    readonly model_name: string
    readonly attempt: number
    readonly retry_after_ms?: number
    readonly error_message: string
  }
  readonly session_start: { readonly working_directory: string; readonly resumed: boolean }
  readonly session_end: { readonly reason: string; readonly duration_ms?: number }
  readonly skill_load: {
    readonly skill_name: string
    readonly tool_names: readonly string[]
    readonly version?: string
    readonly description?: string
    readonly loaded_at: number
  }
  readonly skill_unload: { readonly skill_name: string }
  readonly pre_prompt: {
    readonly prompt: string
    readonly system_prompt: string
    readonly message_count: number
  }
  readonly post_response: {
    readonly response_text: string
    readonly tool_calls_count: number
    readonly usage: HookUsage
    readonly duration_ms: number
  }
  readonly pre_planning: { readonly prompt: string }
  readonly post_planning: { readonly plan: unknown; readonly estimated_steps: number }
  readonly pre_compact: { readonly message_count: number; readonly tokens: number; readonly trigger: string }
  readonly post_compact: { readonly before_messages: number; readonly after_messages: number }
  readonly on_error: {
    readonly error_type: 'tool_failure' | 'llm_failure' | 'permission_denied' | 'timeout' | 'other'
    readonly error_message: string
    readonly context?: unknown
  }
  readonly budget_threshold_hit: {
    readonly resource: string
    readonly kind: string
    readonly consumed: number
    readonly limit: number
    readonly message?: string
  }
  readonly passivation_requested: { readonly reason: string; readonly deadline_ms?: number }
  readonly peer_invocation: {
    readonly from_session_id: string
    readonly from_tenant_id?: string
    readonly correlation_id?: string
  }
}

/** The labels of the session; passed to every hook and never interpreted. */
export type HookLabels = SessionLabels

/** The argument of a hook handler. `event_type` is the same as `eventType`. */
export type HookEvent<Name extends HookEventName = HookEventName> = {
  [Each in Name]: {
    readonly eventType: Each
    readonly event_type: Each
    readonly payload: HookPayloads[Each] & { readonly session_id: string }
    readonly labels: HookLabels
    readonly timestampMs: number
  }
}[Name]
