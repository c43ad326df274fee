import type { LimitReached } from '../tool/runtime.js'

/** Returns a sentence that says which limit ended a command, and how a user raises it. */
export function limitText({ limit, max }: LimitReached): string {
  const { what, option, flag } = limits[limit]
  const value = limit === 'processes' ? String(max) : limit === 'cpu' ? `${max} s` : bytesText(max)
  return `it reached the limit of ${what} (${value}). Use less, or let the user raise it: commandLimits.${option} of the session, command_limits in the configuration, or --limit ${flag}`
}

const limits: Readonly<Record<LimitReached['limit'], Record<'what' | 'option' | 'flag', string>>> = {
  memory: { what: 'memory', option: 'memoryBytes', flag: 'memory=SIZE' },
  processes: { what: 'processes and threads', option: 'processes', flag: 'processes=NUMBER' },
  cpu: { what: 'processor time', option: 'cpuSeconds', flag: 'cpu=DURATION' },
  disk: { what: 'new data on the disk', option: 'diskBytes', flag: 'disk=SIZE' },
  file_size: { what: 'the size of a file', option: 'fileBytes', flag: 'file=SIZE' },
}

function bytesText(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${Number((bytes / 1024 ** at).toFixed(1))} ${units[at]}`
}
