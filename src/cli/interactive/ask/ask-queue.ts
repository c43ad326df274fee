/**
 * Asks the user one question at a time, in order of arrival. A question is prepared and shown only when all earlier
 * ones are answered, so an answer can only be for the question on the screen.
 */
export class AskQueue {
  #lastTurn: Promise<void> = Promise.resolve()
  readonly #open = new Set<AbortController>()

  /**
   * Calls `ask` once all earlier questions are answered. `isOpen` returns whether the caller still waits for an answer.
   * When it does not, a question that is not shown yet is never shown, and the signal of a question on the screen
   * aborts.
   */
  async put<Answer>(
    isOpen: () => boolean,
    ask: (signal: AbortSignal) => Promise<Answer>,
    withdrawn: Answer,
  ): Promise<Answer> {
    const stopping = new AbortController()
    const { signal } = stopping
    this.#open.add(stopping)
    const watch = setInterval(() => {
      if (!isOpen()) stopping.abort()
    }, watchMs)
    const turn = this.#lastTurn
    let end: () => void = () => undefined
    this.#lastTurn = new Promise((resolve) => {
      end = resolve
    })
    try {
      await turn
      return signal.aborted || !isOpen() ? withdrawn : await ask(signal)
    } finally {
      clearInterval(watch)
      this.#open.delete(stopping)
      end()
    }
  }

  /** Withdraws every question, shown or waiting. */
  withdrawAll(): void {
    for (const stopping of this.#open) stopping.abort()
  }
}

const watchMs = 100
