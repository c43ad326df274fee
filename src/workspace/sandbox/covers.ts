import type { CallConfinement } from '../shell/confinement.js'
import type { PathOfKind } from './bubblewrap.js'
import { maskedPaths } from './call-mounts.js'
import { TooManyMasksError } from './errors.js'
import { hardLinks, linkedFiles } from './hard-links.js'
import { type SandboxShell, visiblePart } from './hold-command.js'
import { hostSockets, socketsOfCommands } from './host-sockets.js'
import { indexTree, type TreeIndex } from './tree-index.js'

/** Paths that one command must not access although they are inside a visible directory. */
export type Covers = {
  readonly masked: readonly PathOfKind[]
  readonly sockets: readonly string[]
}

/** bubblewrap accepts 9000 arguments, and each mount makes the next one slower. */
const maxCovers = 1000

/** Before each command, finds the files that rules deny and the sockets of the host. */
export function findCovers(shell: SandboxShell): (given: CallConfinement | undefined) => Promise<Covers> {
  // The directories that are searched by file type: those that commands see in addition to the system.
  const trees = [...shell.roots, ...(shell.writable ?? []), ...(shell.readOnly ?? [])]
  const indexes = new Map<string, TreeIndex>()
  const indexOf = (path: string): TreeIndex => {
    const index = indexes.get(path) ?? indexTree(path)
    indexes.set(path, index)
    return index
  }
  const listening = hostSockets()
  const otherNames = hardLinks(trees)
  const linkedInside = linkedFiles()
  return async (given) => {
    const call = visiblePart(given, shell.hidden)
    const scratch = shell.scratch?.()
    const { unreadable } = call ?? {}
    const places = [...trees, ...(scratch === undefined ? [] : [scratch]), ...(unreadable?.outside ?? [])]
    const found = await Promise.all(places.map((place) => indexOf(place)(unreadable)))
    const outside = (unreadable?.outside ?? []).filter((place) => unreadable?.denies(place) === true)
    const denied = [...(call?.masked ?? []), ...outside, ...found.flatMap((each) => each.denied)]
    // Not the denied paths outside: those can be a whole home directory.
    const hidden = found.slice(0, trees.length).flatMap((each) => each.denied)
    const linked = await linkedInside(hidden)
    const masked = maskedPaths([...denied, ...(await otherNames([...denied, ...linked]))])
    const sockets = new Set(await listening())
    const files = found.flatMap((each) => each.sockets).filter((path) => !sockets.has(path))
    const own = files.length === 0 ? new Set<string>() : socketsOfCommands(shell.ledger.leaders())
    for (const path of files) if (!own.has(path)) sockets.add(path)
    const count = masked.length + sockets.size
    if (count > maxCovers) throw new TooManyMasksError(count, maxCovers)
    return { masked, sockets: [...sockets] }
  }
}
