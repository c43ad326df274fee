import type { ToolCallContext, ToolCallStreamEvent } from '../tool/contract.js'

/** A context to call a tool with, and everything the tool said through it. */
export type RecordedCall = {
  readonly context: ToolCallContext
  readonly progress: readonly unknown[]
  readonly streamEvents: readonly ToolCallStreamEvent[]
  abort(reason?: unknown): void
}

/** Makes a context whose clock stands still unless `now` moves it, and which remembers what a tool reports. */
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
