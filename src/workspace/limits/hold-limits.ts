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
  /** The plan with the words in front that put the command under its limits. */
  wrap<P extends Pick<ConfinedLaunch, 'file' | 'args'>>(plan: P): P
  /** Begins to watch the processes of the command. */
  watch(trace: RunTrace): LimitWatch
  /** Removes what was created. Called when all processes are gone. */
  release(): Promise<void>
}

export type LimitWatch = {
  /** The limit that the command reached; never settles otherwise. */
  readonly reached: Promise<LimitReached>
  /** Kills the processes that the kernel holds in the command's group, at once. */
  kill(): void
  /** The limit that ended a command which is over. */
  after(exit: Exit): LimitReached | undefined
}

export type HoldOptions = {
  readonly limits: ResourceLimits
  /** Where the command can write. */
  readonly writable: readonly string[]
  /** False: nothing but measurement. */
  readonly controlGroups?: boolean | undefined
}

/** Prepares the limits of a command: by a control group where this host can create one, and by measurement. */
export async function holdLimits({ limits, writable, controlGroups }: HoldOptions): Promise<LimitHold> {
  const { memoryBytes, processes, cpuSeconds, diskBytes } = limits
  const wantsGroup = [memoryBytes, processes, cpuSeconds].some((limit) => limit !== undefined)
  const group = controlGroups === false || !wantsGroup ? undefined : await openGroup(limits)
  const disk = diskBytes === undefined ? undefined : watchDiskGrowth(writable)
  let timer: NodeJS.Timeout | undefined
  let released = false
  return {
    wrap(plan) {
      if (group === undefined) return plan
      const [file, ...args] = group.start([plan.file, ...plan.args])
      return { ...plan, file, args }
    },
    watch(trace) {
      // Where memory runs out before a limit is noticed, the kernel ends this command and not its host.
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
                // Such as no free descriptors: the next look can succeed, and the kernel's limits hold meanwhile.
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
      // What is in the group still has hidden from the process table.
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
    if (disk !== undefined && diskBytes !== undefined && (await disk.exceeds(diskBytes, pidsOf(trace))))
      return { limit: 'disk', max: diskBytes }
    return undefined
  }
}

function pidsOf(trace: RunTrace): () => number[] {
  return () => findMembers(trace).map(({ pid }) => pid)
}

/**
 * Looks at the processes of the command in the process table. That takes milliseconds on a busy machine, so it is done
 * when the state of the whole machine says that a limit can have been reached, and once in a while.
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
    const pids = pidsOf(trace)()
    const used = usageOf(pids)
    again = performance.now() + Math.max(anywayMs, 20 * (performance.now() - at))
    if (processes !== undefined && used.processes >= processes) return { limit: 'processes', max: processes }
    if (memoryBytes !== undefined && used.memoryBytes >= memoryBytes && sharedOutMemory(pids) >= memoryBytes)
      return { limit: 'memory', max: memoryBytes }
    if (cpuSeconds !== undefined && used.cpuSeconds >= cpuSeconds) return { limit: 'cpu', max: cpuSeconds }
    return undefined
  }
}

/** The maximum time between two reads of the process table. */
const anywayMs = 2_000

/** The kernel ends a process that passes its own limits, and says which by the signal. */
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
