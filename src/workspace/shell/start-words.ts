import { existsSync } from 'node:fs'
import { textIfReadable } from '../if-readable.js'
import type { ResourceLimits } from '../limits/resource-limits.js'

export type StartOptions = {
  readonly streams?: 'joined' | 'apart' | undefined
  /** A number that marks every process of the command, see `process-mark.ts`. */
  readonly mark?: number | undefined
  /** The maximum number of all processes of the command's user. */
  readonly userProcesses?: number | undefined
}

/**
 * Returns the command line with a prefix that prepares the process: it closes every inherited descriptor but 0 to 2,
 * sets the limits for each single process, and joins the two output streams unless they stay apart. A limit that cannot
 * be raised stays as low as it is. Address space is not limited: programs reserve much more than they use. Core dumps
 * are always off: they contain the memory, including the secrets, of the crashed program (SEC-120).
 */
export function limited(
  argv: readonly string[],
  limits: ResourceLimits,
  { streams = 'joined', mark, userProcesses }: StartOptions = {},
): string[] {
  const shell = startShell()
  const { cpuSeconds, openFiles } = limits
  const fileBytes = smaller(limits.fileBytes, limits.diskBytes)
  const settings = ['ulimit -c 0']
  // At the hard limit the kernel kills without a reason; at the soft limit the signal shows it.
  if (cpuSeconds !== undefined)
    settings.push(`ulimit -S -t ${Math.ceil(cpuSeconds)}`, `ulimit -H -t ${Math.ceil(cpuSeconds) + 5}`)
  if (fileBytes !== undefined) settings.push(`ulimit -f ${Math.ceil(fileBytes / shell.fileBlock)}`)
  if (openFiles !== undefined) settings.push(`ulimit -n ${Math.trunc(openFiles)}`)
  if (userProcesses !== undefined)
    settings.push(`ulimit -u ${Math.trunc(userProcesses)} || ulimit -p ${Math.trunc(userProcesses)}`)
  if (mark !== undefined) settings.push(`ulimit -x ${mark}`)
  const quiet = settings.map((setting) => `{ ${setting}; } 2>/dev/null`)
  const start = streams === 'joined' ? 'exec "$@" 2>&1' : 'exec "$@"'
  return [
    ...shell.words,
    '-c',
    `${shell.closeDescriptors}; ${quiet.join('; ')}; ${start}`,
    'capstan',
    ...argv,
  ]
}

/**
 * Returns how many processes a user can have while a command runs that counts together with the user's other processes:
 * the current number, the limit, and a margin for others. The kernel does not apply it to root.
 */
export function userProcesses({ processes }: ResourceLimits): number | undefined {
  if (processes === undefined) return undefined
  const now = textIfReadable('/proc/loadavg')?.split(' ')[3]?.split('/')[1]
  return now === undefined ? undefined : Number(now) + processes + 1024
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

type StartShell = {
  readonly words: readonly string[]
  /** The unit of `ulimit -f`. */
  readonly fileBlock: number
  readonly closeDescriptors: string
}

/** Node closes the descriptors that it opened itself; inherited ones above 15 would be passed on to every command. */
const bash: StartShell = {
  words: ['/bin/bash', '--noprofile', '--norc'],
  fileBlock: 1024,
  closeDescriptors: `for fd in /proc/self/fd/* /dev/fd/*; do fd=\${fd##*/}; case $fd in 0|1|2|*[!0-9]*) ;; *) eval "exec $fd>&-" ;; esac; done; unset fd`,
}

/** Other shells cannot name a descriptor above 9. */
const plain: StartShell = {
  words: ['/bin/sh'],
  fileBlock: 512,
  closeDescriptors: 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-',
}

let known: StartShell | undefined

function startShell(): StartShell {
  known ??= existsSync('/bin/bash') ? bash : plain
  return known
}
