import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export type Host = {
  readonly child: ChildProcessByStdio<null, Readable, null>
  /** The next line that the host writes, as JSON. */
  next(): Promise<Record<string, unknown>>
  /** How the process ended. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

/**
 * Starts a host program as a process of its own. Hosts import the built package as a user does; the global set-up has
 * built it.
 *
 * @param program its path below `test/`
 */
export function startHost(
  program: string,
  order: object,
  flags: readonly string[] = [],
  /** The command that starts it, with its arguments in front. */
  under: readonly string[] = [],
): Host {
  const [command = process.execPath, ...words] = [
    ...under,
    process.execPath,
    ...flags,
    join(import.meta.dirname, '..', program),
    JSON.stringify(order),
  ]
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async next() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the host has ended')
      return JSON.parse(value) as Record<string, unknown>
    },
    exited: new Promise((settle) => child.once('exit', (code, signal) => settle({ code, signal }))),
  }
}
