import { existsSync } from 'node:fs'

/** Limits of each single process of a command. What is left out is as the host has it. */
export type ResourceLimits = {
  readonly cpuSeconds?: number | undefined
  readonly fileBytes?: number | undefined
  readonly openFiles?: number | undefined
  /** Only inside a sandbox and not for root: elsewhere it would count all processes of the user. */
  readonly processes?: number | undefined
}

export const defaultLimits: ResourceLimits = { fileBytes: 4 * 1024 ** 3, openFiles: 4096 }

export type StartOptions = {
  readonly streams?: 'joined' | 'apart' | undefined
  /** A number that marks every process of the command, see `process-mark.ts`. */
  readonly mark?: number | undefined
}

/**
 * The words in front of a command that prepare its process: close every inherited descriptor but 0 to 2, set the
 * limits, and join the two output streams unless they stay apart. A limit that cannot be raised stays as low as it is.
 * Core dumps are always off: they hold the memory, and with it the secrets, of what crashed (SEC-120).
 */
export function limited(
  argv: readonly string[],
  limits: ResourceLimits,
  { streams = 'joined', mark }: StartOptions = {},
): string[] {
  const shell = startShell()
  const { cpuSeconds, fileBytes, openFiles, processes } = limits
  const settings = ['ulimit -c 0']
  if (cpuSeconds !== undefined) settings.push(`ulimit -t ${Math.ceil(cpuSeconds)}`)
  if (fileBytes !== undefined) settings.push(`ulimit -f ${Math.ceil(fileBytes / shell.fileBlock)}`)
  if (openFiles !== undefined) settings.push(`ulimit -n ${Math.trunc(openFiles)}`)
  if (processes !== undefined)
    settings.push(`ulimit -u ${Math.trunc(processes)} || ulimit -p ${Math.trunc(processes)}`)
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

type StartShell = {
  readonly words: readonly string[]
  /** The unit of `ulimit -f`. */
  readonly fileBlock: number
  readonly closeDescriptors: string
}

/** Node closes what it opened itself; what the host inherited above descriptor 15 would pass on to every command. */
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
