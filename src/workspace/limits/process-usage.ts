import { textIfReadable } from '../if-readable.js'

/** The resources that a set of processes uses, according to the process table. */
export type ProcessUsage = {
  /** Includes threads, as the kernel's limit does. */
  readonly processes: number
  readonly memoryBytes: number
  /** Includes the children that the processes have waited for. */
  readonly cpuSeconds: number
}

/** Adds up what processes use. Memory that several processes share is counted once for each of them. */
export function usageOf(pids: readonly number[]): ProcessUsage {
  let processes = 0
  let memoryBytes = 0
  let ticks = 0
  for (const pid of pids) {
    const stat = textIfReadable(`/proc/${pid}/stat`)
    if (stat === undefined) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const number = (at: number): number => Number(fields[at] ?? 0)
    ticks += number(11) + number(12) + number(13) + number(14)
    processes += number(17)
    memoryBytes += residentBytes(pid)
  }
  return { processes, memoryBytes, cpuSeconds: ticks / ticksPerSecond }
}

/** The unit of times in `/proc` is fixed on Linux. */
const ticksPerSecond = 100

function residentBytes(pid: number): number {
  return kilobytesIn(textIfReadable(`/proc/${pid}/status`), 'VmRSS') * 1024
}

/** Adds up the memory of processes, with each shared page divided among the processes that share it. Slow. */
export function sharedOutMemory(pids: readonly number[]): number {
  return pids.reduce(
    (sum, pid) =>
      // Not readable for a process that changed its user: then its resident size is used.
      sum + (kilobytesIn(textIfReadable(`/proc/${pid}/smaps_rollup`), 'Pss') * 1024 || residentBytes(pid)),
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
