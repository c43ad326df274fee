export interface Slots {
  /** Resolves, in the order of asking, when there is room; what it gives makes room again, once. */
  take(): Promise<() => void>
  /** Lets everybody pass who waits or comes. */
  open(): void
}

export function createSlots(most: number): Slots {
  const waiting: (() => void)[] = []
  let taken = 0
  let isOpen = false
  const release = (): (() => void) => {
    let done = false
    return () => {
      if (done) return
      done = true
      const next = waiting.shift()
      if (next === undefined) taken--
      else next()
    }
  }
  return {
    async take() {
      if (taken < most || isOpen) taken++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release()
    },
    open() {
      isOpen = true
      for (const go of waiting.splice(0)) go()
    },
  }
}
