import type { JudgedSubject } from '../authority/call.js'
import { overlaps } from './call-order.js'
import { onAbort } from './on-abort.js'

/**
 * Runs the calls of a session that write to the same file, or to a file and a directory above it, one after the
 * other, in the order in which they were ready to run. `CallOrder` orders the calls of one answer; this also orders
 * direct calls of the host and calls of programs, which belong to no round.
 */
export class WriteOrder {
  /** Claims in the order they were made; a claim waits for the earlier ones that overlap it. */
  readonly #claims: Claim[] = []

  /** Waits until no earlier call writes to these paths. Returns a function to call when the work has ended. */
  async enter(paths: readonly string[], signal: AbortSignal | undefined): Promise<() => void> {
    let leave: () => void = () => undefined
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const earlier = this.#claims.filter((claim) => overlaps(claim.paths, paths))
    const own: Claim = { paths, left }
    this.#claims.push(own)
    await untilAborted(Promise.all(earlier.map((claim) => claim.left)), signal)
    return () => {
      this.#claims.splice(this.#claims.indexOf(own), 1)
      leave()
    }
  }
}

type Claim = { readonly paths: readonly string[]; readonly left: Promise<void> }

/** Returns the paths that a call writes, with equal text for two spellings of a name on a case-insensitive disk. */
export function writtenPaths(subjects: readonly JudgedSubject[]): string[] {
  return subjects.flatMap((subject) =>
    subject.kind === 'path' && subject.fs === 'write' && subject.origin === 'tool'
      ? [subject.path.path.normalize('NFC').toLowerCase()]
      : [],
  )
}

/** Waits for the turn or an abort: a call whose run was aborted does not start, so it need not wait. */
async function untilAborted(turn: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return void (await turn)
  let off: () => void = () => undefined
  const aborted = new Promise<void>((resolve) => {
    off = onAbort(signal, resolve)
  })
  await Promise.race([turn, aborted])
  off()
}
