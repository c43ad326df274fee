export interface Slots {
  /** Resolves, in the order of the calls, when a slot is free; the returned function frees the slot, once. */
  take(): Promise<() => void>
  /** Resolves all current and future waits. */
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
