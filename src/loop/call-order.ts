import type { JudgedSubject } from '../authority/call.js'

/** The place of one call among the calls of its round. */
export interface Place {
  /** What the call will touch; told as soon as it is known, before anybody is asked. */
  announce(subjects: readonly JudgedSubject[], alone: boolean): void
  /** Resolves when the call may start: to false when the round was ended before that. */
  turn(): Promise<boolean>
  /** The call has ended, however. */
  leave(): void
}

interface CallOrder {
  /** The next place; calls take theirs in the order in which the model wrote them. */
  place(): Place
  /** No call that has not started may start any more. */
  end(): void
}

/**
 * Lets the calls of one round run at the same time as long as they do not get into each other's way. A call waits for those before
 * it that write what it touches, or touch what it writes; commands, which may touch anything, wait for all of them. It only ever
 * waits for earlier calls, so nothing can lock up, and what two calls do to one file happens in the order they were written in.
 */
function createCallOrder(): CallOrder {
  const held: Held[] = []
  let ended = false
  let waiting: (() => void)[] = []

  const wake = (): void => {
    const all = waiting
    waiting = []
    for (const one of all) one()
  }
  const blocked = (own: Held): boolean => {
    for (const other of held) {
      if (other === own) return false
      if (!other.left && (other.claim === undefined || conflict(other.claim, own.claim))) return true
    }
    return false
  }

  return {
    place() {
      const own: Held = { claim: undefined, left: false }
      held.push(own)
      return {
        announce(subjects, alone) {
          own.claim = claimOf(subjects, alone)
          wake()
        },
        async turn() {
          while (!ended && blocked(own)) await new Promise<void>((resolve) => waiting.push(resolve))
          return !ended
        },
        leave() {
          own.left = true
          wake()
        },
      }
    },
    end() {
      ended = true
      wake()
    },
  }
}

/**
 * Makes calls in their order, at most `most` at a time, each with its place. Once one of them says that it ends the round, the others
 * are still asked, so that each has its result, and are told that it is over.
 */
export async function callInOrder<Item, Result extends { readonly fatal?: unknown }>(
  items: readonly Item[],
  most: number,
  call: (item: Item, place: Place, over: boolean) => Promise<Result>,
): Promise<Result[]> {
  const order = createCallOrder()
  const queue = items.map((item) => ({ item, place: order.place() }))
  const results: Result[] = []
  let over = false
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < queue.length; at = next++) {
      const { item, place } = queue[at] as (typeof queue)[number]
      try {
        const result = await call(item, place, over)
        results[at] = result
        if (result.fatal !== undefined && !over) {
          over = true
          order.end()
        }
      } finally {
        // After the end is told: who waits for this call must not start.
        place.leave()
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(Math.max(1, most), items.length) }, work))
  return results
}

/** `claim` is undefined until the call has said what it touches. */
type Held = { claim: Claim | undefined; left: boolean }
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

/** Whether a path of one list is the same as a path of the other, or inside it. */
export function overlaps(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => within(one, other) || within(other, one)))
}

function within(path: string, directory: string): boolean {
  if (!path.startsWith(directory)) return false
  return path.length === directory.length || directory.endsWith('/') || path[directory.length] === '/'
}
