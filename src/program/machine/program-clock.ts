import { clockSlots } from './messages.js'
import { monotonic } from './thread.js'

export interface ProgramClock {
  /** Settles when the program's time is up. */
  readonly up: Promise<void>
  /** Whether it waits for a person and for nothing else: then only the script's own work counts. */
  wait(waits: boolean): void
  /** Gives the program more time: so much in all, where that is more than it had. */
  extend(limitMs: number): void
  /** How much time it has in all. */
  limitMs(): number
  /** Milliseconds since it began, waiting included. */
  elapsed(): number
  stop(): void
}

/** How long the engine has to stop by itself once the time is up, before its thread is ended. */
const stopGraceMs = 50

/**
 * The time of one program: it runs while the script or a call is at work, and stands still while a person thinks. A script that is
 * busy meanwhile uses its time all the same. `shared` is where the thread reads when to stop; what does not stop is told by `up`.
 */
export function startProgramClock(shared: Float64Array, firstLimitMs: number): ProgramClock {
  const began = monotonic()
  let limitMs = firstLimitMs
  let settled = 0
  /** Where the present stretch began: of the clock, or of the script's own work while it waits. */
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
    // While it waits, that much can be used in that much time and no sooner: then it is looked at again.
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

/** How long the script itself was at work since it began. */
function scriptTime(shared: Float64Array): number {
  const since = shared[clockSlots.activeSince] ?? 0
  return (shared[clockSlots.active] ?? 0) + (since === 0 ? 0 : monotonic() - since)
}
