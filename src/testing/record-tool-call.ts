import type { ToolCallContext, ToolCallStreamEvent } from '../tool/contract.js'

/** A context for calling a tool, and everything the tool reported through it. */
export type RecordedCall = {
  readonly context: ToolCallContext
  readonly progress: readonly unknown[]
  readonly streamEvents: readonly ToolCallStreamEvent[]
  abort(reason?: unknown): void
}

/** Creates a context that records what a tool reports. Its clock does not advance unless `now` does. */
export function recordToolCall(
  context: Omit<ToolCallContext, 'signal' | 'progress' | 'emitStreamEvent'> = {},
): RecordedCall {
  const controller = new AbortController()
  const progress: unknown[] = []
  const streamEvents: ToolCallStreamEvent[] = []
  return {
    context: {
      now: () => 0,
      ...context,
      signal: controller.signal,
      progress: (partial) => {
        progress.push(partial)
      },
      emitStreamEvent: (event) => {
        streamEvents.push(event)
      },
    },
    progress,
    streamEvents,
    abort: (reason) => controller.abort(reason),
  }
}
