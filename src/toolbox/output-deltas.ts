/** Takes a command's output as it comes and passes it on in few pieces. */
export type OutputDeltas = {
  take(text: string): void
  /** Passes on what is left. Nothing is passed on after it. */
  end(): void
}

const everyMs = 50
const maxChars = 16_384

/**
 * Gathers output for whoever watches a call: a command that writes thousands of lines a second makes twenty pieces of it, each of
 * bounded size. The first comes at once.
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
      // A watcher that fails is no longer told; the command and its result are not its business.
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
