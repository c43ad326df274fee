import type { Stats } from 'node:fs'
import { lstat, readlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DirectoryEntry } from '../../tool/runtime.js'
import { type FileSystemStat, systemError, type WorkspaceFileSystem } from '../files/file-system.js'
import { kindOf } from '../files/list-directory.js'
import type { LocalFiles } from '../files/local-files.js'
import { tolerate } from '../files/system-error.js'
import { WorkspaceBackendError } from './errors.js'

/**
 * A difference from the disk at one path. `base`: the earlier version of the file on the disk, null when there was
 * none.
 */
export type OverlayChange =
  | {
      readonly kind: 'file'
      readonly path: string
      readonly bytes: Uint8Array
      readonly mode: number
      readonly base: string | null
    }
  | { readonly kind: 'removed'; readonly path: string; readonly base: string | null }
  /** A directory on the disk that is removed. */
  | { readonly kind: 'directory'; readonly path: string }
  /** A link on the disk that was moved here from another path. */
  | { readonly kind: 'link'; readonly path: string; readonly from: string }
  | { readonly kind: 'link-removed'; readonly path: string }

/** A file system over a directory of this machine that keeps all changes in memory. */
export interface OverlayFileSystem extends WorkspaceFileSystem {
  /** Returns all changes, by path. */
  changes(): Promise<readonly OverlayChange[]>
  /** Drops all changes, so that the content of the disk is visible again. */
  clear(): void
  /** Runs `work` while no other operation can change the overlay. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

type Node =
  | { readonly kind: 'file'; readonly bytes: Uint8Array; readonly mode: number; readonly mtimeMs: number }
  /** A directory that hides the content of the disk at this path. */
  | { readonly kind: 'directory'; readonly mtimeMs: number }
  | { readonly kind: 'symlink'; readonly target: string; readonly from: string }
  | { readonly kind: 'gone' }

/** Limits on what an overlay holds in memory. */
export type OverlayLimits = {
  readonly maxBytes: number
  /** The number of paths that differ from the disk: files, directories, and removed entries. */
  readonly maxPaths: number
}

export function createOverlayFileSystem(
  root: string,
  local: LocalFiles,
  limits: OverlayLimits,
): OverlayFileSystem {
  const upper = new Map<string, Node>()
  /** The version of a file on the disk when it was first changed; `link` or `directory` for other entries. */
  const bases = new Map<string, string | null>()
  let last: Promise<unknown> = Promise.resolve()

  /** Runs changes one after the other. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work, work)
    last = done.catch(() => undefined)
    return done
  }
  /** Whether a change to a parent directory hides the entry that the disk has at a path. */
  const isCovered = (path: string): boolean => {
    for (let above = dirname(path); above.length >= root.length && above !== '/'; above = dirname(above))
      if (upper.has(above)) return true
    return false
  }
  const find = async (path: string): Promise<FileSystemStat | undefined> => {
    const node = upper.get(path)
    if (node !== undefined) return node.kind === 'gone' ? undefined : statOf(node)
    return isCovered(path) ? undefined : onDisk(path)
  }
  /** Records the entry of the disk before the first change at a path. */
  const noteBase = async (path: string): Promise<void> => {
    if (bases.has(path)) return
    // An entry that a change to a parent hides was not seen: a commit must not replace it.
    const stat = isCovered(path) ? undefined : await onDisk(path)
    if (stat === undefined) bases.set(path, null)
    else if (stat.kind === 'file') bases.set(path, (await exact(local, path).read(path)).version)
    else bases.set(path, stat.kind === 'symlink' ? linkBase : directoryBase)
  }
  let heldBytes = 0
  let lastChange = 0
  /** Returns the time of a change. No two changes have the same time. */
  const stamp = (): number => {
    lastChange = Math.max(Date.now(), lastChange + 0.001)
    return lastChange
  }
  /** Applies all of these changes, or throws and applies none. Replaced entries are subtracted from the limits. */
  const put = (nodes: readonly (readonly [path: string, node: Node])[]): void => {
    const after = new Map(nodes)
    let [bytes, paths] = [heldBytes, upper.size]
    for (const [path, node] of after) {
      const before = upper.get(path)
      bytes += sizeOf(node) - (before === undefined ? 0 : sizeOf(before))
      if (before === undefined) paths += 1
    }
    if (bytes > limits.maxBytes) throw overlayFull(bytes, limits.maxBytes, 'bytes')
    if (paths > limits.maxPaths) throw overlayFull(paths, limits.maxPaths, 'changed paths')
    for (const [path, node] of after) upper.set(path, node)
    heldBytes = bytes
  }
  const list = async (path: string, limit: number): Promise<DirectoryEntry[]> => {
    const isOwn = upper.has(path) || isCovered(path)
    const entries = new Map<string, DirectoryEntry>()
    if (!isOwn) for (const entry of await exact(local, path).list(path)) entries.set(entry.name, entry)
    for (const [at, node] of upper) {
      if (dirname(at) !== path) continue
      const name = at.slice(path.length + 1)
      if (node.kind === 'gone') entries.delete(name)
      else
        entries.set(name, { name, kind: node.kind, ...(node.kind === 'file' && { size: node.bytes.length }) })
    }
    return [...entries.values()].slice(0, limit + 1)
  }
  const read = async (path: string, start: number, end: number): Promise<Uint8Array> => {
    const node = upper.get(path)
    if (node?.kind === 'file') return node.bytes.slice(start, end)
    if (node !== undefined || isCovered(path)) throw systemError('ENOENT', 'there is no file')
    const size = (await onDisk(path))?.size ?? 0
    return exact(local, path).readRange(path, start, Math.max(start, Math.min(end, size + 1)))
  }
  /** Returns everything at and below a path, parents first. */
  const gather = async (path: string): Promise<[path: string, node: Node][]> => {
    const stat = await find(path)
    if (stat === undefined) throw systemError('ENOENT', 'there is nothing')
    const node = upper.get(path)
    if (stat.kind === 'symlink') {
      const from = node?.kind === 'symlink' ? node.from : path
      return [[path, { kind: 'symlink', target: await readLink(path), from }]]
    }
    if (stat.kind === 'file') {
      const bytes = await read(path, 0, stat.size)
      return [[path, { kind: 'file', bytes, mode: stat.mode, mtimeMs: stat.mtimeMs }]]
    }
    if (stat.kind !== 'directory') throw systemError('EINVAL', 'it is neither a file nor a directory')
    const found: [string, Node][] = [[path, { kind: 'directory', mtimeMs: stat.mtimeMs }]]
    for (const { name } of await list(path, maxMoved)) {
      found.push(...(await gather(`${path}/${name}`)))
      if (found.length > maxMoved) throw systemError('EMFILE', 'there are too many files to move')
    }
    return found
  }
  const readLink = async (path: string): Promise<string> => {
    const node = upper.get(path)
    return node?.kind === 'symlink' ? node.target : readlink(path)
  }
  return {
    alone,
    lstat: find,
    readLink,
    list,
    read,
    write: (path, bytes, mode) =>
      alone(async () => {
        await noteBase(path)
        put([[path, { kind: 'file', bytes: bytes.slice(), mode, mtimeMs: stamp() }]])
      }),
    makeDirectory: (path) =>
      alone(async () => {
        if ((await find(path))?.kind === 'directory') return
        put([[path, { kind: 'directory', mtimeMs: stamp() }]])
      }),
    remove: (path) =>
      alone(async () => {
        if ((await list(path, 1).catch(() => [])).length > 0)
          throw systemError('ENOTEMPTY', 'the directory is not empty')
        await noteBase(path)
        put([[path, gone]])
      }),
    move: (from, to) =>
      alone(async () => {
        const all = await gather(from)
        // Recorded before the change to their parent directory hides them.
        for (const [path] of all) await noteBase(path)
        const moved = all.map(([path, node]) => [`${to}${path.slice(from.length)}`, node] as const)
        for (const [path] of moved) await noteBase(path)
        put([...all.map(([path]) => [path, gone] as const), ...moved])
      }),
    async changes() {
      const changes: OverlayChange[] = []
      for (const [path, node] of [...upper].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const base = bases.get(path) ?? null
        if (node.kind === 'gone' && base === linkBase) changes.push({ kind: 'link-removed', path })
        else if (node.kind === 'gone' && base === directoryBase) changes.push({ kind: 'directory', path })
        else if (node.kind === 'gone' && base !== null) changes.push({ kind: 'removed', path, base })
        else if (node.kind === 'symlink') changes.push({ kind: 'link', path, from: node.from })
        else if (node.kind === 'file')
          changes.push({ kind: 'file', path, bytes: node.bytes, mode: node.mode, base })
      }
      return changes
    },
    clear() {
      upper.clear()
      bases.clear()
      heldBytes = 0
    },
  }
}

const gone: Node = { kind: 'gone' }
const linkBase = 'link'
const directoryBase = 'directory'
const maxMoved = 10_000

/** Restricts the files of the disk to one real path: an entry that replaced it in the meantime is not read. */
function exact(local: LocalFiles, path: string): LocalFiles {
  return local.forCall({
    permit: (_, real) => (real === path ? undefined : 'it was moved while it was read.'),
  })
}

async function onDisk(path: string): Promise<FileSystemStat | undefined> {
  const stat = await lstat(path).catch(tolerate(['ENOENT', 'ENOTDIR'], undefined))
  return (
    stat && {
      kind: kindOf(stat),
      size: stat.size,
      mtimeMs: stat.mtimeMs,
      mode: stat.mode & 0o7777,
      hardLinks: stat.isFile() ? stat.nlink : undefined,
      sameFile: fileWithNames(stat),
      changedAtMs: stat.ctimeMs,
    }
  )
}

/** Returns the identity of a file that has several names (hard links). */
export function fileWithNames(stat: Stats): string | undefined {
  return stat.isFile() && stat.nlink > 1 ? `${stat.dev}:${stat.ino}` : undefined
}

function statOf(node: Exclude<Node, { readonly kind: 'gone' }>): FileSystemStat {
  if (node.kind === 'symlink') return { kind: 'symlink', size: node.target.length, mtimeMs: 0, mode: 0o777 }
  const { mtimeMs } = node
  if (node.kind === 'directory')
    return { kind: 'directory', size: 0, mtimeMs, mode: 0o755, changedAtMs: mtimeMs }
  return { kind: 'file', size: node.bytes.length, mtimeMs, mode: node.mode, changedAtMs: mtimeMs }
}

function sizeOf(node: Node): number {
  return node.kind === 'file' ? node.bytes.length : 0
}

/** The error for changes that exceed the memory limit of an overlay. */
function overlayFull(wanted: number, most: number, what: string): WorkspaceBackendError {
  return new WorkspaceBackendError(
    'overlay_full',
    `The change was not made: the overlay would hold ${wanted} ${what} in memory, and it can hold ${most} ${what}. Commit or discard its changes, or give it a higher limit.`,
  )
}
