import { textIfReadable } from '../if-readable.js'
import { type ProcessEntry, placesOf } from '../shell/process-table.js'

/** The resources that a set of processes uses, according to the process table. */
export type ProcessUsage = {
  /** Includes threads, as the kernel's limit does. */
  readonly processes: number
  readonly memoryBytes: number
  /** Includes the children that the processes have waited for. */
  readonly cpuSeconds: number
}

/** Adds up what processes use. Memory that several processes share is counted once for each of them. */
export function usageOf(entries: readonly ProcessEntry[]): ProcessUsage {
  let processes = 0
  let memoryBytes = 0
  let ticks = 0
  for (const entry of entries) {
    const stat = textIfReadable(`/proc/${entry.pid}/stat`)
    if (stat === undefined) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const number = (at: number): number => Number(fields[at] ?? 0)
    ticks += number(11) + number(12) + number(13) + number(14)
    processes += number(17)
    memoryBytes += residentBytes(entry)
  }
  return { processes, memoryBytes, cpuSeconds: ticks / ticksPerSecond }
}

/** The unit of times in `/proc` is fixed on Linux. */
const ticksPerSecond = 100

function residentBytes(entry: ProcessEntry): number {
  return kilobytesOf(entry, 'status', 'VmRSS') * 1024
}

/** Reads a figure of the memory of a process, which all its threads share. */
function kilobytesOf(entry: ProcessEntry, file: string, name: string): number {
  for (const place of placesOf(entry)) {
    const kilobytes = kilobytesIn(textIfReadable(`${place}/${file}`), name)
    if (kilobytes > 0) return kilobytes
  }
  return 0
}

/** Adds up the memory of processes, with each shared page divided among the processes that share it. Slow. */
export function sharedOutMemory(entries: readonly ProcessEntry[]): number {
  return entries.reduce(
    (sum, entry) =>
      // Not readable for a process that changed its user: then its resident size is used.
      sum + (kilobytesOf(entry, 'smaps_rollup', 'Pss') * 1024 || residentBytes(entry)),
    0,
  )
}

function kilobytesIn(text: string | undefined, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text ?? '')?.[1] ?? 0)
}

/** The state of the whole machine, which takes two small reads. */
export type MachineUsage = { readonly threads: number; readonly availableBytes: number }

export function machineUsage(): MachineUsage {
  return {
    threads: Number(textIfReadable('/proc/loadavg')?.split(' ')[3]?.split('/')[1] ?? 0),
    availableBytes: kilobytesIn(textIfReadable('/proc/meminfo'), 'MemAvailable') * 1024,
  }
}
