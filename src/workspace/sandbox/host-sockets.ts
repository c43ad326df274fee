import { lstat, readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { linkIfReadable, namesIfReadable, textIfReadable } from '../if-readable.js'
import { ProcessSnapshot } from '../shell/process-table.js'

/** Finds socket files of the host outside the directories that are searched by file type. */
export type HostSockets = () => Promise<string[]>

/**
 * Reads the kernel's table of bound Unix sockets before each command, because sockets change often. A socket that is
 * created while a command runs is not covered, which is why the usual directories are hidden as a whole. The table
 * contains the name that a socket was bound to: a relative name is resolved with the working directory of a process
 * that has the socket open, and if no file exists at the name, every socket in that directory is covered, because it
 * may have been renamed.
 */
export function hostSockets(): HostSockets {
  const resolved = new Map<string, string | undefined>()
  return async () => {
    const bound = parse(await readFile('/proc/net/unix', 'utf8').catch(() => ''))
    const relative = bound.filter(({ name }) => !name.startsWith('/'))
    const unknown = relative.filter(({ inode }) => !resolved.has(inode))
    if (unknown.length > 0) {
      const holders = workingDirectories(
        unknown,
        new ProcessSnapshot().entries.map(({ pid }) => pid),
      )
      for (const { inode, name } of unknown) {
        const directory = holders.get(inode)
        resolved.set(inode, directory === undefined ? undefined : resolve(directory, name))
      }
    }
    const names = new Set(
      bound.flatMap(({ inode, name }) => (name.startsWith('/') ? name : (resolved.get(inode) ?? []))),
    )
    const found = await Promise.all(Array.from(names, (name) => socketsAt(name)))
    return [...new Set(found.flat())]
  }
}

/**
 * Returns the socket files that processes of running sandboxes are bound to, by path: commands can connect to each
 * other. `leaders` are the processes that were started for commands.
 */
export function socketsOfCommands(leaders: readonly number[]): Set<string> {
  const own = new Set<string>()
  const hostNamespace = linkIfReadable('/proc/self/ns/net')
  const tables = new Map<string, { pid: number; pids: number[] }>()
  for (const pid of descendantsOf(leaders)) {
    const namespace = linkIfReadable(`/proc/${pid}/ns/net`)
    if (namespace === undefined || namespace === hostNamespace) continue
    const table = tables.get(namespace) ?? { pid, pids: [] }
    table.pids.push(pid)
    tables.set(namespace, table)
  }
  for (const { pid, pids } of tables.values()) {
    const bound = parse(textIfReadable(`/proc/${pid}/net/unix`) ?? '')
    const holders = workingDirectories(
      bound.filter(({ name }) => !name.startsWith('/')),
      pids,
    )
    for (const { inode, name } of bound) {
      const directory = name.startsWith('/') ? '/' : holders.get(inode)
      if (directory !== undefined) own.add(resolve(directory, name))
    }
  }
  return own
}

type Bound = { readonly inode: string; readonly name: string }

function parse(table: string): Bound[] {
  return table.split('\n').flatMap((line) => {
    // Num RefCount Protocol Flags Type St Inode Path; an abstract name begins with @ and is confined to the network
    // namespace.
    const [, inode, name] = /^\S+(?: +\S+){5} +(\d+) ([^@].*)$/.exec(line) ?? []
    return inode === undefined || name === undefined ? [] : [{ inode, name }]
  })
}

/** Returns the working directory of a process that has each socket open. Processes of other users cannot be read. */
function workingDirectories(wanted: readonly Bound[], pids: readonly number[]): Map<string, string> {
  const links = new Map(wanted.map(({ inode }) => [`socket:[${inode}]`, inode]))
  const found = new Map<string, string>()
  if (links.size === 0) return found
  for (const pid of pids) {
    for (const fd of namesIfReadable(`/proc/${pid}/fd`)) {
      const inode = links.get(linkIfReadable(`/proc/${pid}/fd/${fd}`) ?? '')
      const directory = inode === undefined ? undefined : linkIfReadable(`/proc/${pid}/cwd`)
      if (inode !== undefined && directory !== undefined) found.set(inode, directory)
    }
    if (found.size === links.size) break
  }
  return found
}

/** Returns the socket at this name; if there is none, the sockets next to it. */
async function socketsAt(name: string): Promise<string[]> {
  const stat = await lstat(name).catch(() => undefined)
  if (stat?.isSocket() === true) return [name]
  const directory = dirname(name)
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries.flatMap((entry) => (entry.isSocket() ? [join(directory, entry.name)] : []))
}

function descendantsOf(leaders: readonly number[]): number[] {
  const members = new Set(leaders)
  const { entries } = new ProcessSnapshot()
  for (let grew = true; grew; ) {
    grew = false
    for (const { pid, ppid } of entries) {
      if (members.has(pid) || !members.has(ppid)) continue
      members.add(pid)
      grew = true
    }
  }
  return [...members]
}
