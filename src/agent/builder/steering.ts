import type { UserMessage } from '../../tool/completion.js'

/** Messages for a running prompt. */
export interface Steering {
  /** Adds a message. Returns false if the run accepts no more messages. */
  add(messages: readonly UserMessage[]): boolean
  take(): readonly UserMessage[]
  /** The model has answered, with tool calls or with its final answer. */
  answered(callsTools: boolean): void
  close(): void
}

export function createSteering(): Steering {
  const waiting: UserMessage[] = []
  let isLast = false
  let closed = false
  return {
    add(messages) {
      if (closed) return false
      waiting.push(...messages)
      return true
    },
    take() {
      // The final answer was given and no message is waiting: the run ends and accepts no more messages.
      if (isLast && waiting.length === 0) closed = true
      return waiting.splice(0)
    },
    answered(callsTools) {
      isLast = !callsTools
    },
    close() {
      closed = true
    },
  }
}
