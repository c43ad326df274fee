/** Limits of each single process of a command. What is left out is as the host has it. */
export type ResourceLimits = {
  readonly cpuSeconds?: number
  readonly fileBytes?: number
  readonly openFiles?: number
  /** Only inside a sandbox and not for root: elsewhere it would count all processes of the user. */
  readonly processes?: number
}

export const defaultLimits: ResourceLimits = { fileBytes: 4 * 1024 ** 3, openFiles: 4096 }

/**
 * The words in front of a command that set its limits and join its two streams, unless they stay apart. A limit that cannot be raised
 * stays as low as it is. Core dumps are always off: they hold the memory, and with it the secrets, of whatever crashed (SEC-120).
 */
export function limited(
  argv: readonly string[],
  limits: ResourceLimits,
  streams: 'joined' | 'apart' = 'joined',
): string[] {
  const { cpuSeconds, fileBytes, openFiles, processes } = limits
  const settings = ['ulimit -c 0']
  if (cpuSeconds !== undefined) settings.push(`ulimit -t ${Math.ceil(cpuSeconds)}`)
  // In blocks of 512 bytes, in every shell that is called sh.
  if (fileBytes !== undefined) settings.push(`ulimit -f ${Math.ceil(fileBytes / 512)}`)
  if (openFiles !== undefined) settings.push(`ulimit -n ${Math.trunc(openFiles)}`)
  if (processes !== undefined)
    settings.push(`ulimit -u ${Math.trunc(processes)} || ulimit -p ${Math.trunc(processes)}`)
  const quiet = settings.map((setting) => `{ ${setting}; } 2>/dev/null`)
  const start = streams === 'joined' ? 'exec "$@" 2>&1' : 'exec "$@"'
  return ['/bin/sh', '-c', `${quiet.join('; ')}; ${start}`, 'capstan', ...argv]
}
