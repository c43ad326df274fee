import { randomId } from '../workspace/random-id.js'

/** Generates ids. */
export interface IdGenerator {
  next(): string
}
/** A source of the current time, in milliseconds since the epoch. */
export interface Clock {
  now(): number
  /** Waits before a failed request is sent again. Default: a timer of the system. */
  sleep?(ms: number, signal: AbortSignal): Promise<void>
}

/** The randomness and the clock of a host. Deterministic ones make a run repeatable. */
export type HostEnv = {
  readonly idGenerator?: IdGenerator
  readonly clock?: Clock
  /** Short form of `idGenerator: new SequentialIdGenerator(prefix)`. */
  readonly sequentialIdPrefix?: string
  /** Short form of `clock: new FixedClock(ms)`: a time in milliseconds that does not change. */
  readonly fixedTimeMs?: number
  /** Returns a number from 0 to 1: the random part of the delays between requests. */
  readonly random?: () => number
}

/** Generates the ids `prefix-0`, `prefix-1`, and so on. */
export class SequentialIdGenerator implements IdGenerator {
  readonly #prefix: string
  #next = 0

  constructor(prefix = 'id') {
    this.#prefix = prefix
  }

  next(): string {
    return `${this.#prefix}-${this.#next++}`
  }
}

/** A clock that always returns the same time, or advances by a fixed step with each reading. */
export class FixedClock implements Clock {
  #now: number
  readonly #step: number

  constructor(ms: number, stepMs = 0) {
    this.#now = ms
    this.#step = stepMs
  }

  now(): number {
    const now = this.#now
    this.#now += this.#step
    return now
  }
}

/** Replaces the short forms of a host environment by the objects that they mean. */
export function readHostEnv(given: HostEnv): HostEnv {
  const { sequentialIdPrefix, fixedTimeMs, idGenerator, clock, random } = given
  if (sequentialIdPrefix == null && fixedTimeMs == null) return given
  const ids = sequentialIdPrefix == null ? idGenerator : new SequentialIdGenerator(sequentialIdPrefix)
  const time = fixedTimeMs == null ? clock : new FixedClock(fixedTimeMs)
  return {
    ...(ids != null && { idGenerator: ids }),
    ...(time != null && { clock: time }),
    ...(random != null && { random }),
  }
}

export const systemClock: Clock = { now: () => Date.now() }
export const randomIds: IdGenerator = { next: () => randomId() }
