/** Receives a command's output as it arrives and forwards it in few pieces. */
export type OutputDeltas = {
  take(text: string): void
  /** Forwards the remaining output. Nothing is forwarded afterwards. */
  end(): void
}

const everyMs = 50
const maxChars = 16_384

/**
 * Collects the output of a command for progress events: thousands of lines a second become twenty pieces, each of
 * bounded size. The first piece is reported immediately.
 */
export function createOutputDeltas(progress: (text: string) => void): OutputDeltas {
  let pending = ''
  let skipped = 0
  let timer: NodeJS.Timeout | undefined
  let over = false

  const flush = (): void => {
    timer = undefined
    if (pending === '' || over) return
    const text = skipped > 0 ? `[… ${skipped} characters skipped …]\n${pending}` : pending
    pending = ''
    skipped = 0
    try {
      progress(text)
    } catch {
      // A progress handler that fails is not called again; the command and its result do not depend on it.
      over = true
    }
  }
  return {
    take(text) {
      if (over || text === '') return
      pending += text
      if (pending.length > maxChars) {
        skipped += pending.length - maxChars
        pending = pending.slice(-maxChars)
      }
      if (timer !== undefined) return
      flush()
      timer = setTimeout(() => {
        flush()
      }, everyMs)
      timer.unref()
    },
    end() {
      clearTimeout(timer)
      flush()
      over = true
    },
  }
}
