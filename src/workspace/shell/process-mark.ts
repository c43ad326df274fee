import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * A mark on every process of a command that no `setsid`, double fork, cleared environment or closed output removes: the
 * limit of file locks (RLIMIT_LOCKS), which Linux passes on through fork and exec, shows to everyone, and has not
 * enforced since 2.4. Its value is the number of the host followed by six digits of the command.
 */
const perHost = 1_000_000

/** Draws the number of a host. Undefined where marks cannot be set: no `/proc`, or the limit is too low. */
export function newHostMark(): number | undefined {
  const own = lockLimit('self')
  if (own === undefined) return undefined
  // A limit can only be lowered: a host that itself runs under a mark draws below it.
  const highest = Math.min(9_000_000_000, Math.floor(own / perHost) - 1)
  if (highest < 1000) return undefined
  const lowest = Math.max(1000, Math.floor(highest / 2))
  return randomInt(lowest, highest)
}

/** The mark of the command with that number. */
export function markOf(host: number, command: number): number {
  return host * perHost + (command % perHost)
}

export function hostOfMark(mark: number): number {
  return Math.floor(mark / perHost)
}

/** The mark a process carries; undefined when it has none, or is gone. */
export function markOfProcess(pid: number): number | undefined {
  const limit = lockLimit(String(pid))
  return limit === undefined || limit === Number.POSITIVE_INFINITY ? undefined : limit
}

function lockLimit(pid: string): number | undefined {
  try {
    const value = /^Max file locks +(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1]
    if (value === undefined) return undefined
    return value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value)
  } catch {
    // Gone meanwhile, or a system without `/proc`.
    return undefined
  }
}
