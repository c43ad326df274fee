import type { ResourceLimits } from '../../workspace/limits/resource-limits.js'
import { UsageError } from '../errors.js'
import { readDuration } from './duration.js'

/** Reads the values of `--limit`: `memory=2g`, `processes=500`, `cpu=10m`, `disk=5g`; `none` lifts a limit. */
export function readLimits(given: readonly string[]): ResourceLimits | undefined {
  if (given.length === 0) return undefined
  return Object.fromEntries(given.map(readLimit))
}

type Name = 'memory' | 'processes' | 'cpu' | 'disk' | 'file'

const limits: Readonly<Record<Name, readonly [keyof ResourceLimits, (text: string) => number | undefined]>> =
  {
    memory: ['memoryBytes', readBytes],
    processes: ['processes', (text) => (/^\d+$/.test(text) ? Number(text) : undefined)],
    cpu: ['cpuSeconds', (text) => Math.ceil(readDuration('limit', text) / 1000)],
    disk: ['diskBytes', readBytes],
    file: ['fileBytes', readBytes],
  }

function readLimit(text: string): [keyof ResourceLimits, number] {
  const [name = '', value = ''] = text.split(/=(.*)/s)
  const known = Object.entries(limits).find(([each]) => each === name)?.[1]
  const max = known === undefined ? undefined : value === 'none' ? Number.POSITIVE_INFINITY : known[1](value)
  if (known === undefined || max === undefined || max <= 0)
    throw new UsageError(
      `--limit takes ${Object.keys(limits).join(', ')} with a value, such as memory=2g, processes=500 or cpu=10m, not ${JSON.stringify(text)}.`,
    )
  return [known[0], max]
}

function readBytes(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?)([kmgt]?)i?b?$/i.exec(text)
  const power = ['', 'k', 'm', 'g', 't'].indexOf(found?.[2]?.toLowerCase() ?? '')
  return found === null ? undefined : Math.round(Number(found[1]) * 1024 ** power)
}
