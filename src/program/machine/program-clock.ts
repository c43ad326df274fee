import { clockSlots } from './messages.js'
import { monotonic } from './thread.js'

export interface ProgramClock {
  /** Resolves when the program's time is up. */
  readonly up: Promise<void>
  /** Sets whether it waits only for a user: then only the script's own work counts. */
  wait(waits: boolean): void
  /** Extends the total time, if it is more than before. */
  extend(limitMs: number): void
  /** Returns the total time. */
  limitMs(): number
  /** Milliseconds since it started, including waits. */
  elapsed(): number
  stop(): void
}

/** How long the engine has to stop by itself once the time is up, before its thread is terminated. */
const stopGraceMs = 50

/**
 * Starts the clock of one program: it runs while the script or a call is working, and is paused while a user decides.
 * A script that is busy meanwhile still uses its time. The thread reads from `shared` when to stop; if it does not
 * stop, `up` resolves.
 */
export function startProgramClock(shared: Float64Array, firstLimitMs: number): ProgramClock {
  const began = monotonic()
  let limitMs = firstLimitMs
  let settled = 0
  /** Where the current period began: on the clock, or in the script's own work while it waits. */
  let from = began
  let waits = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let ring: () => void = () => undefined
  const up = new Promise<void>((resolve) => {
    ring = resolve
  })

  const position = (): number => (waits ? scriptTime(shared) : monotonic())
  const used = (): number => settled + Math.max(0, position() - from)
  const arm = (): void => {
    clearTimeout(timer)
    const left = limitMs - used()
    shared[clockSlots.deadline] = waits ? Number.POSITIVE_INFINITY : monotonic() + left
    shared[clockSlots.activeLimit] = waits ? scriptTime(shared) + left : Number.POSITIVE_INFINITY
    // While the program waits for a user, it cannot use that time any sooner: check again then.
    timer = setTimeout(() => (used() >= limitMs ? ring() : arm()), Math.max(0, left) + stopGraceMs)
  }
  arm()
  return {
    up,
    elapsed: () => monotonic() - began,
    limitMs: () => limitMs,
    extend(more) {
      if (more <= limitMs) return
      limitMs = more
      arm()
    },
    wait(now) {
      if (now === waits) return
      settled = used()
      waits = now
      from = position()
      arm()
    },
    stop: () => clearTimeout(timer),
  }
}

/** Returns how long the script itself has worked since it started. */
function scriptTime(shared: Float64Array): number {
  const since = shared[clockSlots.activeSince] ?? 0
  return (shared[clockSlots.active] ?? 0) + (since === 0 ? 0 : monotonic() - since)
}
