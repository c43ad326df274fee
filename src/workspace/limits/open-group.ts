import { type ControlGroup, createControlGroup, usableGroupPlaces } from './control-group.js'
import type { GroupResource } from './group-places.js'
import type { ResourceLimits } from './resource-limits.js'
import { createScope, scopeManager } from './systemd-scope.js'

/** What holds commands to a limit: a scope of the service manager, control groups of a version, or measurement. */
export type LimitMeans = 'systemd' | 1 | 2 | 'measured'

/**
 * Creates the group of a command by what this machine has proven to support: a scope of the service manager, else
 * control groups of this host's own. Undefined where there is neither.
 */
export async function openGroup(
  limits: Pick<ResourceLimits, 'memoryBytes' | 'processes'>,
): Promise<ControlGroup | undefined> {
  const manager = await scopeManager()
  if (manager !== undefined) return createScope(manager, limits)
  const places = await usableGroupPlaces()
  return places.length === 0 ? undefined : createControlGroup(places, limits)
}

/** What holds commands to each limit here. */
export async function limitMeans(): Promise<Readonly<Record<GroupResource, LimitMeans>>> {
  if ((await scopeManager()) !== undefined) return { memory: 'systemd', processes: 'systemd', cpu: 'systemd' }
  const places = await usableGroupPlaces()
  const means = (resource: GroupResource): LimitMeans =>
    places.find(({ resources }) => resources.includes(resource))?.version ?? 'measured'
  return { memory: means('memory'), processes: means('processes'), cpu: means('cpu') }
}

/**
 * How many processes and threads the guard of a sandbox must hold a command to: the kernel does not hold root to
 * `RLIMIT_NPROC`, and a fork bomb can be faster than measurement. Undefined where the kernel holds the command.
 */
export async function guardedTasks(
  { processes }: ResourceLimits,
  controlGroups: boolean | undefined,
): Promise<number | undefined> {
  if (processes === undefined || process.getuid?.() !== 0) return undefined
  const isHeld = controlGroups !== false && (await limitMeans()).processes !== 'measured'
  return isHeld ? undefined : processes
}
