import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { LimitReached } from '../../tool/runtime.js'
import { ifReadable } from '../if-readable.js'
import type { ConfinedLaunch } from '../shell/confinement.js'
import type { Exit } from '../shell/launch.js'
import { findMembers, type RunTrace } from '../shell/run-trace.js'
import type { ControlGroup } from './control-group.js'
import { type DiskGrowth, watchDiskGrowth } from './disk-growth.js'
import { openGroup } from './open-group.js'
import { machineUsage, sharedOutMemory, usageOf } from './process-usage.js'
import type { ResourceLimits } from './resource-limits.js'

/** The limits of one command while it runs. */
export type LimitHold = {
  /** Returns the plan with a prefix that starts the command under its limits. */
  wrap<P extends Pick<ConfinedLaunch, 'file' | 'args'>>(plan: P): P
  /** Starts to watch the processes of the command. */
  watch(trace: RunTrace): LimitWatch
  /** Removes everything that was created. Call it after all processes have ended. */
  release(): Promise<void>
}

export type LimitWatch = {
  /** Resolves with the limit that the command reached; never settles otherwise. */
  readonly reached: Promise<LimitReached>
  /** Kills all processes in the command's control group at once. */
  kill(): void
  /** Returns the limit that ended a command, after the command has ended. */
  after(exit: Exit): LimitReached | undefined
}

export type HoldOptions = {
  readonly limits: ResourceLimits
  /** The paths that the command can write to. */
  readonly writable: readonly string[]
  /** False: limits are enforced by measurement only. */
  readonly controlGroups?: boolean | undefined
}

/** Prepares the limits of a command: with a control group where this host can create one, and by measurement. */
export async function holdLimits({ limits, writable, controlGroups }: HoldOptions): Promise<LimitHold> {
  const { memoryBytes, processes, cpuSeconds, diskBytes } = limits
  const wantsGroup = [memoryBytes, processes, cpuSeconds].some((limit) => limit !== undefined)
  const group = controlGroups === false || !wantsGroup ? undefined : await openGroup(limits)
  const disk = diskBytes === undefined ? undefined : await watchDiskGrowth(writable)
  let timer: NodeJS.Timeout | undefined
  let released = false
  return {
    wrap(plan) {
      if (group === undefined) return plan
      const [file, ...args] = group.start([plan.file, ...plan.args])
      return { ...plan, file, args }
    },
    watch(trace) {
      // If memory runs out before a limit is noticed, the kernel kills this command and not its host.
      if (memoryBytes !== undefined)
        ifReadable(() => writeFileSync(`/proc/${trace.leader.pid}/oom_score_adj`, '1000'))
      group?.entered?.(trace.leader.pid)
      const look = looker({ limits, group, disk, trace })
      const reached = new Promise<LimitReached>((resolve) => {
        const next = (pauseMs: number): void => {
          if (released) return
          timer = setTimeout(() => {
            look().then(
              (found) => {
                if (found === undefined) next(Math.min(pauseMs * 1.5, maxPauseMs))
                else resolve(found)
                // For example no free descriptors: the next read can succeed, and the kernel's limits still apply.
              },
              () => next(maxPauseMs),
            )
          }, pauseMs)
          timer.unref()
        }
        if (wantsGroup || disk !== undefined) next(firstPauseMs)
      })
      return { reached, kill: () => group?.kill(), after: (exit) => limitOf(exit, limits, group) }
    },
    async release() {
      released = true
      clearTimeout(timer)
      disk?.close()
      // Processes that are still in the group were hidden from the process table.
      group?.kill()
      await group?.remove()
    },
  }
}

const firstPauseMs = 50
const maxPauseMs = 250

type Looked = {
  readonly limits: ResourceLimits
  readonly group: ControlGroup | undefined
  readonly disk: DiskGrowth | undefined
  readonly trace: RunTrace
}

function looker({ limits, group, disk, trace }: Looked): () => Promise<LimitReached | undefined> {
  const { memoryBytes, processes, cpuSeconds, diskBytes } = limits
  const held = group?.resources ?? []
  const measured = measuring(
    {
      memoryBytes: held.includes('memory') ? undefined : memoryBytes,
      processes: held.includes('processes') ? undefined : processes,
      cpuSeconds: held.includes('cpu') ? undefined : cpuSeconds,
    },
    trace,
  )
  return async () => {
    const usage = group?.usage()
    if (memoryBytes !== undefined && (usage?.memoryKills ?? 0) > 0)
      return { limit: 'memory', max: memoryBytes }
    if (processes !== undefined && (usage?.refusedProcesses ?? 0) > 0)
      return { limit: 'processes', max: processes }
    if (cpuSeconds !== undefined && (usage?.cpuSeconds ?? 0) >= cpuSeconds)
      return { limit: 'cpu', max: cpuSeconds }
    const found = measured?.()
    if (found !== undefined) return found
    if (
      disk !== undefined &&
      diskBytes !== undefined &&
      (await disk.exceeds(diskBytes, () => findMembers(trace)))
    )
      return { limit: 'disk', max: diskBytes }
    return undefined
  }
}

/**
 * Reads the processes of the command from the process table. That takes milliseconds on a busy machine, so it is done
 * only when the state of the whole machine shows that a limit may have been reached, and once in a while.
 */
function measuring(
  { memoryBytes, processes, cpuSeconds }: Pick<ResourceLimits, 'memoryBytes' | 'processes' | 'cpuSeconds'>,
  trace: RunTrace,
): (() => LimitReached | undefined) | undefined {
  if (memoryBytes === undefined && processes === undefined && cpuSeconds === undefined) return undefined
  const before = machineUsage()
  const began = performance.now()
  const cores = availableParallelism()
  let again = began + anywayMs
  return () => {
    const now = machineUsage()
    const at = performance.now()
    const isDue =
      at >= again ||
      (processes !== undefined && now.threads - before.threads >= processes / 2) ||
      (memoryBytes !== undefined && before.availableBytes - now.availableBytes >= memoryBytes / 2)
    const canHaveUsed = ((at - began) / 1000) * cores
    if (!isDue && !(cpuSeconds !== undefined && canHaveUsed >= cpuSeconds)) return undefined
    const entries = findMembers(trace)
    const used = usageOf(entries)
    again = performance.now() + Math.max(anywayMs, 20 * (performance.now() - at))
    if (processes !== undefined && used.processes >= processes) return { limit: 'processes', max: processes }
    if (
      memoryBytes !== undefined &&
      used.memoryBytes >= memoryBytes &&
      sharedOutMemory(entries) >= memoryBytes
    )
      return { limit: 'memory', max: memoryBytes }
    if (cpuSeconds !== undefined && used.cpuSeconds >= cpuSeconds) return { limit: 'cpu', max: cpuSeconds }
    return undefined
  }
}

/** The maximum time between two reads of the process table. */
const anywayMs = 2_000

/** The kernel ends a process that exceeds its own limits; the signal shows which limit it was. */
function limitOf(
  { exitCode, signal }: Exit,
  limits: ResourceLimits,
  group: ControlGroup | undefined,
): LimitReached | undefined {
  if (exitCode === 0) return undefined
  const { memoryBytes, processes, cpuSeconds, diskBytes, fileBytes } = limits
  const endedBy = (name: string, number: number): boolean => signal === name || exitCode === 128 + number
  const usage = group?.usage()
  if (memoryBytes !== undefined && (usage?.memoryKills ?? 0) > 0) return { limit: 'memory', max: memoryBytes }
  if (processes !== undefined && (usage?.refusedProcesses ?? 0) > 0)
    return { limit: 'processes', max: processes }
  if (cpuSeconds !== undefined && endedBy('SIGXCPU', 24)) return { limit: 'cpu', max: cpuSeconds }
  if (endedBy('SIGXFSZ', 25)) {
    if (diskBytes !== undefined && diskBytes <= (fileBytes ?? Number.POSITIVE_INFINITY))
      return { limit: 'disk', max: diskBytes }
    if (fileBytes !== undefined) return { limit: 'file_size', max: fileBytes }
  }
  return undefined
}
