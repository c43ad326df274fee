import { textIfReadable } from '../if-readable.js'

/** The resources that control groups can limit. */
export type GroupResource = 'memory' | 'processes' | 'cpu'

/** A directory of the control group file system in which groups for commands are created. */
export type GroupPlace = {
  readonly version: 1 | 2
  readonly directory: string
  readonly resources: readonly GroupResource[]
}

/** The controller of each resource in version 1, where each controller can have a separate tree. */
const controllers: Readonly<Record<GroupResource, string>> = {
  memory: 'memory',
  processes: 'pids',
  cpu: 'cpuacct',
}

const allResources: readonly GroupResource[] = ['memory', 'processes', 'cpu']

/**
 * Finds the directories in which groups for commands are created. In version 1 they are below the group of this
 * process, so that its limits apply to commands too. In version 2 a group with processes cannot have limited groups
 * below it: there they are created next to it, unless it is the root or has limits itself, which would then not apply
 * to the commands.
 */
export function groupPlaces(read: (path: string) => string | undefined = textIfReadable): GroupPlace[] {
  const own = ownGroups(read('/proc/self/cgroup') ?? '')
  const mounts = groupMounts(read('/proc/self/mountinfo') ?? '')
  const places = mounts.flatMap((mount): GroupPlace[] => {
    const path = own.find(({ names }) =>
      mount.version === 2 ? names.length === 0 : names.some((name) => mount.options.includes(name)),
    )?.path
    const below = path === undefined ? undefined : pathBelow(mount.root, path)
    if (below === undefined) return []
    if (mount.version === 2) return unifiedPlaces(`${mount.at}${below}`, mount.at, read)
    const resources = allResources.filter((resource) => mount.options.includes(controllers[resource]))
    return resources.length === 0 ? [] : [{ version: 1, directory: `${mount.at}${below}`, resources }]
  })
  return places
}

/** Both controllers have to be enabled for the groups below the directory; processor time is counted in every group. */
function unifiedPlaces(own: string, mount: string, read: (path: string) => string | undefined): GroupPlace[] {
  const isLimited = ['memory.max', 'memory.high', 'pids.max', 'cpu.max'].some(
    (name) => !(read(`${own}/${name}`) ?? 'max').startsWith('max'),
  )
  const parent = own === mount || isLimited ? [] : [own.slice(0, own.lastIndexOf('/'))]
  for (const directory of [...parent, own]) {
    const enabled = read(`${directory}/cgroup.subtree_control`)?.trim().split(' ') ?? []
    const resources: GroupResource[] = []
    if (enabled.includes('memory')) resources.push('memory')
    if (enabled.includes('pids')) resources.push('processes')
    if (resources.length > 0) return [{ version: 2, directory, resources: [...resources, 'cpu'] }]
  }
  return []
}

/** Returns the directory of the version 2 group that this process is in. */
export function ownUnifiedGroup(
  read: (path: string) => string | undefined = textIfReadable,
): string | undefined {
  const path = ownGroups(read('/proc/self/cgroup') ?? '').find(({ names }) => names.length === 0)?.path
  const mount = groupMounts(read('/proc/self/mountinfo') ?? '').find(({ version }) => version === 2)
  const below = path === undefined || mount === undefined ? undefined : pathBelow(mount.root, path)
  return below === undefined ? undefined : `${mount?.at}${below}`
}

type OwnGroup = { readonly names: readonly string[]; readonly path: string }

function ownGroups(text: string): OwnGroup[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line)
    if (match === null) return []
    const [, names = '', path = ''] = match
    return [{ names: names === '' ? [] : names.split(','), path: path === '/' ? '' : path }]
  })
}

type GroupMount = {
  readonly version: 1 | 2
  readonly root: string
  readonly at: string
  readonly options: readonly string[]
}

function groupMounts(text: string): GroupMount[] {
  return text.split('\n').flatMap((line): GroupMount[] => {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , root = '', at = ''] = before.split(' ')
    const [type, , options = ''] = after.split(' ')
    if (type !== 'cgroup' && type !== 'cgroup2') return []
    const version = type === 'cgroup2' ? 2 : 1
    return [{ version, root: root === '/' ? '' : root, at, options: options.split(',') }]
  })
}

/** Returns the path below the mount; undefined if the mount shows another part of the tree. */
function pathBelow(root: string, path: string): string | undefined {
  if (path === root) return ''
  return path.startsWith(`${root}/`) ? path.slice(root.length) : undefined
}
