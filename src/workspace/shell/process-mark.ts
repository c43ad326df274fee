import { randomInt } from 'node:crypto'
import { textIfReadable } from '../if-readable.js'

/**
 * A mark on every process of a command that no `setsid`, double fork, cleared environment or closed output removes: the
 * limit of file locks (RLIMIT_LOCKS). Linux passes it on through fork and exec, shows it to every process, and has not
 * enforced it since 2.4. Its value is the number of the host followed by six digits for the command.
 */
const perHost = 1_000_000

/** Draws a random number for a host. Undefined where marks cannot be set: no `/proc`, or the limit is too low. */
export function newHostMark(): number | undefined {
  const own = lockLimit('self')
  if (own === undefined) return undefined
  // A limit can only be lowered: a host that itself runs under a mark draws a number below it.
  const highest = Math.min(9_000_000_000, Math.floor(own / perHost) - 1)
  if (highest < 1000) return undefined
  const lowest = Math.max(1000, Math.floor(highest / 2))
  return randomInt(lowest, highest)
}

/** Returns the mark of the command with that number. */
export function markOf(host: number, command: number): number {
  return host * perHost + (command % perHost)
}

export function hostOfMark(mark: number): number {
  return Math.floor(mark / perHost)
}

/** Returns the mark of a process; undefined when it has none or has ended. */
export function markOfProcess(pid: number): number | undefined {
  const limit = lockLimit(String(pid))
  return limit === undefined || limit === Number.POSITIVE_INFINITY ? undefined : limit
}

function lockLimit(pid: string): number | undefined {
  // Not readable when the process has ended in the meantime, or when the system has no `/proc`.
  const value = /^Max file locks +(\S+)/m.exec(textIfReadable(`/proc/${pid}/limits`) ?? '')?.[1]
  if (value === undefined) return undefined
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
}
