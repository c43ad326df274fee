import type { JudgedSubject } from '../authority/call.js'

/** The position of one call among the calls that run with it. */
export interface CallSlot {
  /**
   * Waits until fewer calls run than are allowed at the same time, which is a promise only if there is something to
   * wait for. The result is false when the order has been ended.
   */
  enter(): boolean | Promise<boolean>
  /** States what the call will touch, as soon as that is known and before a user is asked. */
  announce(subjects: readonly JudgedSubject[], alone: boolean): void
  /** Waits in the same way until no earlier call conflicts with this one. */
  turn(): boolean | Promise<boolean>
  /** The call touches nothing any more: calls that conflict with it can start. */
  leave(): void
  /** Leaves, and makes room for a call that waits to enter. */
  exit(): void
}

/**
 * Orders calls that run at the same time. At most `maxAtOnce` are entered at a time. A call waits for the calls added
 * before it that write what it touches, or touch what it writes; commands, which can touch anything, wait for all of
 * them. A call waits for earlier calls only, so there is no deadlock, and two calls that change one file change it in
 * the order in which they were added.
 *
 * @example
 * const slot = order.add()
 * try {
 *   if (await slot.enter()) await call(slot)
 * } finally {
 *   slot.exit()
 * }
 */
export class CallOrder {
  readonly #maxAtOnce: number
  readonly #held: Held[] = []
  readonly #entering: (() => void)[] = []
  #entered = 0
  #ended = false
  #waiting: (() => void)[] = []

  constructor(maxAtOnce: number) {
    this.#maxAtOnce = Math.max(1, maxAtOnce)
  }

  /** Adds a call after all calls that were added before. */
  add(): CallSlot {
    const own: Held = { claim: undefined, entered: false, left: false }
    this.#held.push(own)
    return {
      enter: () => {
        const enter = (): boolean => {
          own.entered = true
          return !this.#ended
        }
        if (this.#entered >= this.#maxAtOnce)
          return new Promise<void>((resolve) => this.#entering.push(resolve)).then(enter)
        this.#entered++
        return enter()
      },
      announce: (subjects, alone) => {
        own.claim = claimOf(subjects, alone)
        this.#wake()
      },
      turn: () => (this.#isBlocked(own) ? this.#turnOf(own) : !this.#ended),
      leave: () => {
        own.left = true
        this.#wake()
      },
      exit: () => {
        own.left = true
        this.#wake()
        if (own.entered) this.#makeRoom()
        own.entered = false
      },
    }
  }

  /** Ends the order: calls that have not started do not start. They can still enter, so that each gets a result. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  async #turnOf(own: Held): Promise<boolean> {
    while (this.#isBlocked(own)) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return !this.#ended
  }

  #isBlocked(own: Held): boolean {
    if (this.#ended) return false
    for (const other of this.#held) {
      if (other === own) return false
      if (!other.left && (other.claim === undefined || conflict(other.claim, own.claim))) return true
    }
    return false
  }

  #wake(): void {
    const all = this.#waiting
    this.#waiting = []
    for (const resolve of all) resolve()
  }

  /** Passes the free slot to the next waiting call, so that a later call cannot use it first. */
  #makeRoom(): void {
    const next = this.#entering.shift()
    if (next === undefined) this.#entered--
    else next()
  }
}

/** `claim` is undefined until the call has stated what it touches. */
type Held = { claim: Claim | undefined; entered: boolean; left: boolean }
type Claim = {
  readonly alone: boolean
  readonly reads: readonly string[]
  readonly writes: readonly string[]
}

function claimOf(subjects: readonly JudgedSubject[], alone: boolean): Claim {
  const reads: string[] = []
  const writes: string[] = []
  let command = alone
  for (const subject of subjects) {
    if (subject.kind === 'command') command = true
    else if (subject.kind === 'path') (subject.fs === 'write' ? writes : reads).push(subject.path.path)
  }
  return { alone: command, reads, writes }
}

function conflict(earlier: Claim, later: Claim | undefined): boolean {
  if (later === undefined) return true
  if (earlier.alone || later.alone) return touchesFiles(earlier) && touchesFiles(later)
  return (
    overlaps(earlier.writes, later.writes) ||
    overlaps(earlier.writes, later.reads) ||
    overlaps(earlier.reads, later.writes)
  )
}

function touchesFiles({ alone, reads, writes }: Claim): boolean {
  return alone || reads.length > 0 || writes.length > 0
}

/** Returns whether a path of one list is the same as a path of the other, or inside it. */
export function overlaps(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => within(one, other) || within(other, one)))
}

function within(path: string, directory: string): boolean {
  if (!path.startsWith(directory)) return false
  return path.length === directory.length || directory.endsWith('/') || path[directory.length] === '/'
}
