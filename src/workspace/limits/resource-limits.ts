import { availableParallelism, totalmem } from 'node:os'

/** Limits of one command with all its processes. Limits that are not given are those of the host. */
export type ResourceLimits = {
  readonly memoryBytes?: number | undefined
  /** The maximum number of processes and threads at the same time. */
  readonly processes?: number | undefined
  /** The maximum processor time of all processes together, in seconds. */
  readonly cpuSeconds?: number | undefined
  /** How many bytes a command can add to the disk. */
  readonly diskBytes?: number | undefined
  /** The maximum size of a single file, in bytes. */
  readonly fileBytes?: number | undefined
  /** The maximum number of open files of each process. */
  readonly openFiles?: number | undefined
}

/** Returns the default limits with the given ones applied; `Infinity` removes one. */
export function resourceLimits(stated: ResourceLimits = {}): ResourceLimits {
  const all: ResourceLimits = { ...defaultLimits(), ...stated }
  return Object.fromEntries(
    Object.entries(all).filter(([, limit]) => limit !== undefined && limit !== Number.POSITIVE_INFINITY),
  )
}

/** Returns limits from a file, which can only lower those of the host. Values that are not numbers are ignored. */
export function stricterLimits(host: ResourceLimits | undefined, stated: ResourceLimits): ResourceLimits {
  const own = { ...defaultLimits(), ...host }
  return Object.fromEntries(
    limitNames.flatMap((name) => {
      const limits = [own[name], stated[name]].filter((limit) => typeof limit === 'number' && limit > 0)
      return limits.length === 0 ? [] : [[name, Math.min(...(limits as number[]))]]
    }),
  )
}

const limitNames = [
  'memoryBytes',
  'processes',
  'cpuSeconds',
  'diskBytes',
  'fileBytes',
  'openFiles',
] as const satisfies readonly (keyof ResourceLimits)[]

const gibibyte = 1024 ** 3
/** The memory limit of this host; all memory of the machine if it has none. */
let hostMemory: number | undefined

/**
 * The default limits: enough for large builds, and low enough to protect the machine from a runaway command. Processor
 * time has no default: on many cores a large build uses hours of it in minutes, and commands have a timeout.
 */
export function defaultLimits(): Required<{ [L in Exclude<keyof ResourceLimits, 'cpuSeconds'>]: number }> {
  // Read once: the system reads files for this, and every session needs it.
  hostMemory ??= Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return {
    memoryBytes: Math.floor(hostMemory * 0.75),
    processes: Math.max(2048, 128 * availableParallelism()),
    diskBytes: 16 * gibibyte,
    fileBytes: 4 * gibibyte,
    openFiles: 4096,
  }
}
