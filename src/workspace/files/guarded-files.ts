import { dirname } from 'node:path'
import type { DirectoryEntry, FileContent, FileStat } from '../../tool/runtime.js'
import { authorise, type Guard, type Permit, refuseCarrying, whyNotRead } from './access.js'
import { changeFiles } from './change-files.js'
import { type Area, containPath, rootOfReal } from './contained-path.js'
import { decodeText } from './decode-text.js'
import {
  DirectoryTooLargeError,
  FileChangedError,
  FileExistsError,
  FileKindError,
  FileNotFoundError,
  FileReadOnlyError,
  FileSystemError,
  FileTooLargeError,
  LinkLoopError,
  PathOutsideError,
  PathUnstableError,
} from './errors.js'
import type { FileSystemStat, WorkspaceFileSystem } from './file-system.js'
import { realPathOn } from './follow-links.js'
import { acquireLock } from './keyed-lock.js'
import { both, type ModeWriteOptions, type WorkspaceFiles } from './local-files.js'
import { linuxStyle } from './path-style.js'
import { protect } from './protected-path.js'
import { stopIfAborted } from './read-file.js'
import { refuseRange } from './refuse-range.js'
import { fromSystem } from './system-error.js'
import { versionOf } from './version.js'

/** Options of {@link createGuardedFiles}. */
export type GuardedFilesOptions = {
  /** The real path of the root on the file system. */
  readonly root: string
  /** Equal for all users of one file system, so that their writes to a file run one after the other. */
  readonly lockName: string
  readonly protect?: readonly string[] | undefined
  readonly permit?: Permit | undefined
  readonly maxFileBytes?: number | undefined
  readonly maxEntries?: number | undefined
}

/**
 * Provides the files below one root of any file system, with the same checks as files on this machine's disk:
 * containment after links, protected names, the permit of the call, limits, versions. A path is resolved before it is
 * used and again after a read. A program that replaces directories by links in between is therefore detected after a
 * read, but not at a write. The file system itself has to prevent that where it matters.
 */
export function createGuardedFiles(
  fileSystem: WorkspaceFileSystem,
  options: GuardedFilesOptions,
): WorkspaceFiles {
  const root = { kind: 'workspace', path: options.root, given: options.root } as const
  const area: Area = { style: linuxStyle, workspace: root, roots: () => [root] }
  return filesFor(
    {
      fileSystem,
      area,
      protection: protect(options.protect),
      permit: options.permit ?? (() => undefined),
      linkedGit: () => linkedGitOn(fileSystem, options.root),
      exists: async (path) => (await fileSystem.lstat(path)) !== undefined,
      lockName: options.lockName,
      maxBytes: options.maxFileBytes ?? 64 * 1024 * 1024,
      maxEntries: options.maxEntries ?? 100_000,
    },
    undefined,
  )
}

type World = Guard & {
  readonly fileSystem: WorkspaceFileSystem
  readonly lockName: string
  readonly maxBytes: number
  readonly maxEntries: number
}

type Place = {
  readonly asWritten: string
  /** The absolute path, with all links resolved. */
  readonly real: string
  readonly stat: FileSystemStat | undefined
}

function filesFor(world: World, signal: AbortSignal | undefined): WorkspaceFiles {
  const { fileSystem, area } = world
  /** Resolves a path, and throws unless this access to it is allowed. */
  const find = async (kind: 'read' | 'write', path: string, follow = true): Promise<Place> => {
    stopIfAborted(signal, path)
    const place = await locate(world, path, follow)
    await authorise(world, kind, place.real, path)
    return place
  }
  const readable = async (path: string): Promise<Place & { readonly stat: FileSystemStat }> => {
    const place = await find('read', path)
    return { ...place, stat: await existing(world, place) }
  }
  const read = async (path: string, { maxBytes = world.maxBytes } = {}): Promise<FileContent> => {
    const limit = Math.min(maxBytes, world.maxBytes)
    const place = await readable(path)
    refuseUnreadable(place)
    if (place.stat.size > limit) throw new FileTooLargeError(path, place.stat.size, limit, readLess)
    const bytes = await fileSystem.read(place.real, 0, limit + 1)
    if (bytes.length > limit) throw new FileTooLargeError(path, undefined, limit, readLess)
    await refuseMoved(world, place)
    return { bytes, size: bytes.length, version: await versionOf(bytes) }
  }
  const files: WorkspaceFiles = {
    root: area.workspace.path,
    resolve: async (path) => {
      const { real } = await locate(world, path, true)
      if (rootOfReal(area, real) === undefined) throw leadsOut(path)
      return real
    },
    changedAt: async (path) => (await readable(path)).stat.changedAtMs ?? Number.POSITIVE_INFINITY,
    forCall: (call) => filesFor({ ...world, permit: both(world.permit, call.permit) }, call.signal ?? signal),
    stat: async (path) => statOf((await readable(path)).stat),
    whyNotRead: (path) => whyNotRead(world, path),
    list: async (path) => {
      const place = await readable(path)
      if (place.stat.kind !== 'directory')
        throw new FileKindError(path, 'is not a directory; read it instead')
      const entries = await fileSystem.list(place.real, world.maxEntries)
      if (entries.length > world.maxEntries) throw new DirectoryTooLargeError(path, world.maxEntries)
      await refuseMoved(world, place)
      return entries.map(asListed).sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    read,
    readText: async (path, limits) => decodeText(path, (await read(path, limits)).bytes),
    readRange: async (path, start, end) => {
      refuseRange(path, start, end)
      const place = await readable(path)
      refuseUnreadable(place)
      const length = Math.max(0, Math.min(end, place.stat.size) - start)
      if (length > world.maxBytes)
        throw new FileTooLargeError(path, length, world.maxBytes, 'Read a smaller range.')
      const bytes = await fileSystem.read(place.real, start, end)
      await refuseMoved(world, place)
      return bytes
    },
    write: async (path, data, options = {}) => {
      // Copied now, because the caller may change its bytes while the write waits for the lock.
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
      const { real } = await find('write', path)
      if (/[\\/]$/.test(path))
        throw new FileKindError(path, 'ends in a slash, so it names a directory; name a file')
      if (bytes.length > world.maxBytes)
        throw new FileTooLargeError(path, bytes.length, world.maxBytes, 'Write less at once.')
      return locked(world, [real], async () => {
        stopIfAborted(signal, path)
        const created = await replace(world, { asWritten: path, real }, bytes, options)
        return {
          path: real.slice(area.workspace.path.length + 1),
          bytes: bytes.length,
          created,
          version: await versionOf(bytes),
        }
      })
    },
    remove: async (path) => {
      const place = await find('write', path, false)
      await locked(world, [place.real], () => remove(world, place))
    },
    move: async (from, to) => {
      const source = await find('write', from, false)
      const target = await find('write', to, false)
      await locked(world, [source.real, target.real], () => move(world, source, target))
    },
    change: async (changes) => {
      for (const { path } of changes) {
        stopIfAborted(signal, path)
        containPath(area, path)
      }
      // The signal is not used from here on: a partial change is worse than a late one.
      await changeFiles(filesFor(world, undefined), changes)
    },
  }
  return withSystemErrors(files)
}

const readLess = 'Read a part of it by its range.'

async function locate({ fileSystem, area }: World, path: string, follow: boolean): Promise<Place> {
  const { absolute } = containPath(area, path)
  const real = await realPathOn(fileSystem, absolute, follow)
  if (real === undefined) throw new LinkLoopError(path)
  if (rootOfReal(area, real) === undefined) throw leadsOut(path)
  return { asWritten: path, real, stat: await fileSystem.lstat(real) }
}

function leadsOut(path: string): PathOutsideError {
  return new PathOutsideError(path, 'leads outside the workspace')
}

async function existing(
  { fileSystem, area }: World,
  { asWritten, real, stat }: Place,
): Promise<FileSystemStat> {
  if (stat !== undefined) return stat
  for (let above = dirname(real); above.length >= area.workspace.path.length; above = dirname(above)) {
    const found = await fileSystem.lstat(above)
    if (found === undefined) continue
    if (found.kind !== 'directory') throw throughFile(asWritten)
    break
  }
  throw new FileNotFoundError(asWritten)
}

function throughFile(path: string): FileKindError {
  return new FileKindError(path, 'runs through a file as if it were a directory; use another path')
}

function refuseUnreadable({ asWritten, stat }: Place & { readonly stat: FileSystemStat }): void {
  if (stat.kind === 'directory')
    throw new FileKindError(asWritten, 'is a directory; list it, or name a file in it')
  if (stat.kind !== 'file') throw new FileKindError(asWritten, 'is not a regular file')
}

/** Throws when the path no longer leads to what was read. */
async function refuseMoved({ fileSystem }: World, { asWritten, real }: Place): Promise<void> {
  if ((await realPathOn(fileSystem, real, true)) !== real) throw new PathUnstableError(asWritten)
}

/** Keys begin with a NUL, which separates them from every path on a disk. */
async function locked<T>(world: World, paths: readonly string[], work: () => Promise<T>): Promise<T> {
  const release = await acquireLock(paths.map((path) => `\0${world.lockName}:${path}`))
  try {
    return await work()
  } finally {
    release()
  }
}

/** Returns whether the file is new. */
async function replace(
  world: World,
  { asWritten, real }: Pick<Place, 'asWritten' | 'real'>,
  bytes: Uint8Array,
  { ifVersion, mode = 0o644 }: ModeWriteOptions,
): Promise<boolean> {
  const { fileSystem } = world
  const before = await fileSystem.lstat(real)
  if (before !== undefined) refuseUnreadable({ asWritten, real, stat: before })
  if (ifVersion !== undefined) {
    const current = before && (await versionOf(await fileSystem.read(real, 0, world.maxBytes + 1)))
    if ((current ?? null) !== ifVersion) throw new FileChangedError(asWritten, ifVersion, current)
  }
  if (before !== undefined && (before.mode & 0o200) === 0) throw new FileReadOnlyError(asWritten)
  await makeParents(world, asWritten, real)
  await fileSystem.write(real, bytes, before === undefined ? mode : before.mode & 0o7777)
  return before === undefined
}

async function makeParents({ fileSystem, area }: World, asWritten: string, real: string): Promise<void> {
  const missing: string[] = []
  for (let above = dirname(real); above.length > area.workspace.path.length; above = dirname(above)) {
    const found = await fileSystem.lstat(above)
    if (found?.kind === 'directory') break
    if (found !== undefined) throw throughFile(asWritten)
    missing.unshift(above)
  }
  for (const directory of missing) await fileSystem.makeDirectory(directory)
}

async function remove(world: World, place: Place): Promise<void> {
  const stat = await existing(world, { ...place, stat: await world.fileSystem.lstat(place.real) })
  const match = rootOfReal(world.area, place.real)
  if (match !== undefined) refuseCarrying(world, match, place.asWritten)
  // Only an empty directory: removing a whole tree requires a command, which rules judge.
  if (stat.kind === 'directory' && (await world.fileSystem.list(place.real, 1)).length > 0) {
    const problem = 'the directory is not empty; remove what is in it first'
    throw new FileSystemError(place.asWritten, 'ENOTEMPTY', problem)
  }
  await world.fileSystem.remove(place.real)
}

async function move(world: World, from: Place, to: Place): Promise<void> {
  const { fileSystem, area } = world
  await authorise(world, 'read', from.real, from.asWritten)
  const stat = await existing(world, { ...from, stat: await fileSystem.lstat(from.real) })
  const match = rootOfReal(area, from.real)
  if (match !== undefined) refuseCarrying(world, match, from.asWritten)
  if (stat.kind === 'directory')
    await authoriseTree(world, from.asWritten, from.real, { left: world.maxEntries })
  if (from.real === to.real) return
  if ((await fileSystem.lstat(to.real)) !== undefined) throw new FileExistsError(to.asWritten)
  if (to.real.startsWith(`${from.real}/`))
    throw new FileSystemError(to.asWritten, 'EINVAL', 'a directory cannot be moved into itself')
  await makeParents(world, to.asWritten, to.real)
  await fileSystem.move(from.real, to.real)
}

/** The entries of a directory are moved with it, so all of them must be allowed. */
async function authoriseTree(
  world: World,
  asWritten: string,
  directory: string,
  budget: { left: number },
): Promise<void> {
  const entries = await world.fileSystem.list(directory, budget.left)
  budget.left -= entries.length
  if (budget.left < 0) throw new DirectoryTooLargeError(asWritten, world.maxEntries)
  for (const { name, kind } of entries) {
    const inner = `${directory}/${name}`
    await authorise(world, 'read', inner, asWritten)
    refuseCarrying(world, await authorise(world, 'write', inner, asWritten), asWritten)
    if (kind === 'directory') await authoriseTree(world, asWritten, inner, budget)
  }
}

function statOf({ kind, size, mtimeMs, mode }: FileSystemStat): FileStat {
  return { kind, size: kind === 'file' ? size : 0, mtimeMs, mode: mode & 0o7777 }
}

function asListed({ name, kind, size }: DirectoryEntry): DirectoryEntry {
  return kind === 'file' && size !== undefined ? { name, kind, size } : { name, kind }
}

/** Returns where the workspace's `.git` points when it is a file or a link: like `linkedGitDirectories` on a disk. */
async function linkedGitOn(fileSystem: WorkspaceFileSystem, root: string): Promise<readonly string[]> {
  const path = `${root}/.git`
  const stat = await fileSystem.lstat(path)
  if (stat === undefined || stat.kind === 'directory') return []
  const text =
    stat.kind === 'file' ? new TextDecoder().decode(await fileSystem.read(path, 0, 4096)) : undefined
  const target = text === undefined ? path : /^gitdir: ([^\r\n]+)/.exec(text)?.[1]
  if (target === undefined) return []
  const real = await realPathOn(fileSystem, target.startsWith('/') ? target : `${root}/${target}`, true)
  return real === undefined ? [] : [real]
}

/** Adds the path as the caller wrote it to every error of the file system. */
function withSystemErrors(files: WorkspaceFiles): WorkspaceFiles {
  const named = async <T>(path: string, work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (thrown) {
      throw fromSystem(thrown, path)
    }
  }
  return {
    ...files,
    resolve: (path) => named(path, files.resolve(path)),
    changedAt: (path) => named(path, files.changedAt(path)),
    stat: (path) => named(path, files.stat(path)),
    list: (path) => named(path, files.list(path)),
    read: (path, options) => named(path, files.read(path, options)),
    readText: (path, options) => named(path, files.readText(path, options)),
    readRange: (path, start, end) => named(path, files.readRange(path, start, end)),
    write: (path, data, options) => named(path, files.write(path, data, options)),
    remove: (path) => named(path, files.remove(path)),
    move: (from, to) => named(from, files.move(from, to)),
  }
}
