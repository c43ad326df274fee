import { type ControlGroup, createControlGroup, usableGroupPlaces } from './control-group.js'
import type { GroupResource } from './group-places.js'
import type { ResourceLimits } from './resource-limits.js'
import { createScope, scopeManager } from './systemd-scope.js'

/** The mechanism that enforces a limit: a systemd scope, control groups of version 1 or 2, or measurement. */
export type LimitMeans = 'systemd' | 1 | 2 | 'measured'

/**
 * Creates the group of a command with the best mechanism that works on this machine: a systemd scope, otherwise control
 * groups that this host creates. Undefined if neither works.
 */
export async function openGroup(
  limits: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): Promise<ControlGroup | undefined> {
  const manager = await scopeManager()
  if (manager !== undefined) return createScope(manager, limits)
  const places = await usableGroupPlaces()
  return places.length === 0 ? undefined : createControlGroup(places, limits)
}

/** Returns the mechanism that enforces each limit on this machine. */
export async function limitMeans(): Promise<Readonly<Record<GroupResource, LimitMeans>>> {
  if ((await scopeManager()) !== undefined) return { memory: 'systemd', processes: 'systemd', cpu: 'systemd' }
  const places = await usableGroupPlaces()
  const means = (resource: GroupResource): LimitMeans =>
    places.find(({ resources }) => resources.includes(resource))?.version ?? 'measured'
  return { memory: means('memory'), processes: means('processes'), cpu: means('cpu') }
}

/**
 * Returns the number of processes and threads to which the guard of a sandbox must limit a command: the kernel does not
 * apply `RLIMIT_NPROC` to root, and a fork bomb can be faster than measurement. Undefined where the kernel enforces the
 * limit.
 */
export async function guardedTasks(
  { processes }: ResourceLimits,
  controlGroups: boolean | undefined,
): Promise<number | undefined> {
  if (processes === undefined || process.getuid?.() !== 0) return undefined
  const isHeld = controlGroups !== false && (await limitMeans()).processes !== 'measured'
  return isHeld ? undefined : processes
}
