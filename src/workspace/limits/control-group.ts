import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ifReadable, namesIfReadable, textIfReadable } from '../if-readable.js'
import { isGone, type Owner, thisProcess } from '../scratch/owner.js'
import { type GroupPlace, type GroupResource, groupPlaces } from './group-places.js'
import { splitOwnGroup } from './own-group.js'
import { defaultLimits, type ResourceLimits } from './resource-limits.js'

/** The control groups of one command: one directory in version 2, one for each controller in version 1. */
export type ControlGroup = {
  readonly resources: readonly GroupResource[]
  /** Returns the command line that starts a program in the group. It is not started if it cannot join. */
  start(argv: readonly string[]): readonly [string, ...string[]]
  /** Called with the first process of the command after it was started. */
  entered?(pid: number): void
  usage(): GroupUsage
  /** Kills every process of the group. */
  kill(): void
  /** Removes the group once it is empty. */
  remove(): Promise<void>
}

/** The kernel's counters of a group. A counter that the kernel does not have there is absent. */
export type GroupUsage = {
  /** The number of processes that the kernel killed because the group had no memory left. */
  readonly memoryKills?: number | undefined
  /** The number of new processes that the kernel refused. */
  readonly refusedProcesses?: number | undefined
  readonly cpuSeconds?: number | undefined
}

let usable: Promise<readonly GroupPlace[]> | undefined

/** Returns the directories in which this host can create groups that its commands can join. Tested once per process. */
export function usableGroupPlaces(): Promise<readonly GroupPlace[]> {
  usable ??= findPlaces()
  return usable
}

async function findPlaces(): Promise<readonly GroupPlace[]> {
  const found = await tryPlaces(groupPlaces())
  if (found.some(({ resources }) => resources.includes('memory') || resources.includes('processes')))
    return found
  const own = splitOwnGroup()
  return own === undefined ? found : tryPlaces([own])
}

async function tryPlaces(places: readonly GroupPlace[]): Promise<readonly GroupPlace[]> {
  const tried = await Promise.all(
    places.map(async (place) => {
      removeLeftGroups(place.directory)
      const group = createControlGroup([place], { memoryBytes: 2 ** 30, processes: 100 })
      if (group === undefined) return []
      const joined = await canJoin(group)
      await group.remove()
      return joined ? [place] : []
    }),
  )
  return tried.flat()
}

function canJoin(group: ControlGroup): Promise<boolean> {
  const [file, ...args] = group.start(['/bin/sh', '-c', 'exit 0'])
  return new Promise((resolve) => {
    execFile(file, args, { cwd: '/', env: {}, timeout: 10_000 }, (error) => resolve(error === null))
  })
}

/** A process joins by writing `0` to each of the files. */
function joining(joins: readonly string[], argv: readonly string[]): readonly [string, ...string[]] {
  return ['/bin/sh', '-c', join0, 'capstan', ...joins, '--', ...argv]
}

const join0 = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 126; shift; done; shift; exec "$@"'

const prefix = 'capstan'
let count = 0
let self: Owner | undefined

/** The name of the next group, with its owner: this process. */
function nextName(): string {
  self ??= thisProcess()
  return [prefix, self.pid, self.started, self.namespace, ++count].join('-')
}

/** Creates a group with limits. Returns undefined, and leaves nothing, when that is not possible. */
export function createControlGroup(
  places: readonly GroupPlace[],
  limits: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): ControlGroup | undefined {
  const name = nextName()
  const made: { readonly place: GroupPlace; readonly directory: string }[] = []
  try {
    for (const place of places) {
      const directory = join(place.directory, name)
      mkdirSync(directory)
      made.push({ place, directory })
      for (const [file, value] of settings(place, limits)) writeFileSync(join(directory, file), value)
    }
  } catch {
    for (const { directory } of made) ifReadable(() => rmdirSync(directory))
    return undefined
  }
  if (made.length === 0) return undefined
  return {
    resources: made.flatMap(({ place }) => place.resources),
    start: (argv) =>
      joining(
        made.map(({ directory }) => join(directory, 'cgroup.procs')),
        argv,
      ),
    usage: () => Object.assign({}, ...made.map(({ place, directory }) => usageIn(place, directory))),
    kill() {
      for (const { place, directory } of made) killIn(place, directory)
    },
    remove: async () => void (await Promise.all(made.map(({ directory }) => removeGroup(directory)))),
  }
}

/**
 * Returns the files to write for the limits. Swap limits are omitted if the machine has no swap or does not count it. A
 * limit below the default applies to swap too; otherwise a large build can use the swap of the machine.
 */
function settings(
  { version, resources, directory }: GroupPlace,
  { memoryBytes, processes }: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): [string, string][] {
  const files: [string, string][] = []
  if (memoryBytes !== undefined && resources.includes('memory')) {
    const value = String(Math.trunc(memoryBytes))
    const withSwap = memoryBytes < defaultLimits().memoryBytes
    if (version === 1) {
      files.push(['memory.limit_in_bytes', value])
      if (withSwap && namesIfReadable(directory).includes('memory.memsw.limit_in_bytes'))
        files.push(['memory.memsw.limit_in_bytes', value])
    } else {
      files.push(['memory.max', value], ['memory.oom.group', '1'])
      if (withSwap && textIfReadable('/proc/swaps')?.trim().includes('\n') === true)
        files.push(['memory.swap.max', '0'])
    }
  }
  if (processes !== undefined && resources.includes('processes'))
    files.push(['pids.max', String(Math.trunc(processes))])
  return files
}

/** Returns the kernel's counters of the group in a directory. */
export function usageIn(
  { version, resources }: Pick<GroupPlace, 'version' | 'resources'>,
  directory: string,
): GroupUsage {
  const number = (file: string, name: string): number | undefined => {
    const text = textIfReadable(join(directory, file))
    const found = text === undefined ? undefined : new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]
    return found === undefined ? undefined : Number(found)
  }
  const usage: Record<string, number | undefined> = {}
  if (resources.includes('memory'))
    usage['memoryKills'] = number(version === 1 ? 'memory.oom_control' : 'memory.events', 'oom_kill')
  if (resources.includes('processes')) usage['refusedProcesses'] = number('pids.events', 'max')
  if (resources.includes('cpu')) {
    const nanoseconds = version === 1 ? textIfReadable(join(directory, 'cpuacct.usage')) : undefined
    const microseconds = version === 2 ? number('cpu.stat', 'usage_usec') : undefined
    usage['cpuSeconds'] =
      nanoseconds !== undefined
        ? Number(nanoseconds) / 1e9
        : microseconds === undefined
          ? undefined
          : microseconds / 1e6
  }
  return usage
}

/** Kills every process of the group in a directory. */
export function killIn({ version }: Pick<GroupPlace, 'version'>, directory: string): void {
  if (version === 2) {
    // Missing before Linux 5.14; the processes are then ended one by one.
    ifReadable(() => writeFileSync(join(directory, 'cgroup.kill'), '1'))
    return
  }
  // The process may have ended in the meantime. Never 0, which would signal the processes of this host.
  for (const pid of textIfReadable(join(directory, 'cgroup.procs'))?.split('\n') ?? [])
    if (Number(pid) > 0) ifReadable(() => process.kill(Number(pid), 'SIGKILL'))
}

/** A killed process remains a member until it has left the process table, which takes a moment. */
async function removeGroup(directory: string): Promise<void> {
  for (let pause = 1; pause < 2_000; pause *= 2) {
    ifReadable(() => rmdirSync(directory))
    if (!existsSync(directory)) return
    await delay(pause)
  }
}

/**
 * Removes the groups of hosts that were killed. A group with processes is not removed. A group whose owner may still
 * run is not removed either, even if it is empty: its command may be about to join it.
 */
export function removeLeftGroups(directory: string): void {
  self ??= thisProcess()
  for (const name of namesIfReadable(directory)) {
    const [, pid, started, namespace] = groupName.exec(name) ?? []
    if (pid === undefined || started === undefined || namespace === undefined) continue
    if (isGone({ ...self, pid: Number(pid), started, namespace }, self))
      ifReadable(() => rmdirSync(join(directory, name)))
  }
}

const groupName = new RegExp(`^${prefix}-(\\d+)-(\\w+)-(\\w+)-\\d+$`)
