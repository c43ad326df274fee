import type { UserMessage } from '../../tool/completion.js'

/** Messages for a run that is under way. */
export interface Steering {
  /** False when it comes too late to be heard. */
  add(messages: readonly UserMessage[]): boolean
  take(): readonly UserMessage[]
  /** The model has answered, with calls of tools or with its last word. */
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
      // Nothing there after the last word: the run ends on this, so nothing may be taken in any more.
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
