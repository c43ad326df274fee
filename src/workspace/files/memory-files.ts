import type { DirectoryEntry, FileContent, FileStat, RuntimeFiles, WriteOutcome } from '../../tool/runtime.js'
import type { Permit } from './access.js'
import { changeFiles } from './change-files.js'
import { type Area, type ContainedPath, containPath } from './contained-path.js'
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
  PathNotPermittedError,
  PathProtectedError,
} from './errors.js'
import { acquireLock } from './keyed-lock.js'
import {
  childrenOf,
  createTree,
  type MemoryNode,
  type MemoryTree,
  nodeAt,
  placeNode,
  takeNode,
} from './memory-tree.js'
import { linuxStyle } from './path-style.js'
import { protect, protectedBelow, protectedBy } from './protected-path.js'
import { refuseRange } from './refuse-range.js'
import { versionOf } from './version.js'

/** Options of {@link createMemoryFiles}. */
export type MemoryFilesOptions = {
  /** The virtual path of the root. */
  readonly root?: string | undefined
  /** What is there at the start, by path from the root. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined
  readonly protect?: readonly string[] | undefined
  readonly permit?: Permit | undefined
  readonly maxFileBytes?: number | undefined
  readonly maxEntries?: number | undefined
  /** The time of a change; without it each change is one millisecond after the last. */
  readonly clock?: (() => number) | undefined
}

/** Files that exist only in memory. */
export interface MemoryFiles extends RuntimeFiles {
  resolve(path: string): Promise<string>
}

/**
 * The files of a workspace that exists only in memory, for tests and for hosts without a disk. Same answers and
 * refusals as on a disk; there are no links. Runs in any JavaScript runtime.
 *
 * @example
 * const files = createMemoryFiles({ files: { 'readme.md': '# Hello\n' } })
 * await files.readText('readme.md')
 */
export function createMemoryFiles(options: MemoryFilesOptions = {}): MemoryFiles {
  const world = createWorld(options)
  const read = async (path: string, { maxBytes = world.maxBytes } = {}): Promise<FileContent> => {
    const { bytes } = fileAt(world, admit(world, 'read', path))
    const limit = Math.min(maxBytes, world.maxBytes)
    if (bytes.length > limit)
      throw new FileTooLargeError(path, bytes.length, limit, 'Read a part of it by its range.')
    return { bytes: bytes.slice(), size: bytes.length, version: await versionOf(bytes) }
  }
  const files: MemoryFiles = {
    root: world.area.workspace.path,
    resolve: async (path) => containPath(world.area, path).absolute,
    stat: async (path) => statOf(existing(world, admit(world, 'read', path))),
    list: async (path) => list(world, admit(world, 'read', path)),
    read,
    readText: async (path, limits) => decodeText(path, (await read(path, limits)).bytes),
    readRange: async (path, start, end) => {
      refuseRange(path, start, end)
      const { bytes } = fileAt(world, admit(world, 'read', path))
      const length = Math.max(0, Math.min(end, bytes.length) - start)
      if (length > world.maxBytes)
        throw new FileTooLargeError(path, length, world.maxBytes, 'Read a smaller range.')
      return bytes.slice(start, end)
    },
    write: async (path, data, { ifVersion } = {}) => {
      const target = admit(world, 'write', path)
      if (/[\\/]$/.test(path))
        throw new FileKindError(path, 'ends in a slash, so it names a directory; name a file')
      // A copy now: the caller may change its bytes while the write waits its turn.
      const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
      if (bytes.length > world.maxBytes)
        throw new FileTooLargeError(path, bytes.length, world.maxBytes, 'Write less at once.')
      const release = await acquireLock([lockKey(world, target)])
      try {
        return await write(world, target, bytes, ifVersion)
      } finally {
        release()
      }
    },
    remove: async (path) => remove(world, admit(world, 'write', path)),
    move: async (from, to) => move(world, admit(world, 'write', from), admit(world, 'write', to)),
    change: async (changes) => changeFiles(files, changes),
  }
  return files
}

type World = ReturnType<typeof createWorld>

function createWorld(options: MemoryFilesOptions) {
  const root = {
    kind: 'workspace',
    path: options.root ?? '/workspace',
    given: options.root ?? '/workspace',
  } as const
  const area: Area = { style: linuxStyle, workspace: root, roots: () => [root] }
  let ticks = 0
  const clock = options.clock ?? (() => ++ticks)
  const tree: MemoryTree = createTree(clock())
  for (const [path, data] of Object.entries(options.files ?? {})) {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data.slice()
    placeNode(tree, containPath(area, path).names, { kind: 'file', bytes, mode: 0o644, mtimeMs: clock() })
  }
  return {
    id: ++worlds,
    area,
    tree,
    clock,
    protection: protect(options.protect),
    permit: options.permit ?? (() => undefined),
    maxBytes: options.maxFileBytes ?? 64 * 1024 * 1024,
    maxEntries: options.maxEntries ?? 100_000,
  }
}

let worlds = 0

/** A NUL keeps these keys apart from every path on a disk. */
function lockKey(world: World, path: ContainedPath): string {
  return `\0memory-${world.id}:${path.absolute}`
}

function admit(world: World, kind: 'read' | 'write', path: string): ContainedPath {
  const target = containPath(world.area, path)
  permit(world, kind, target.names, path)
  return target
}

function permit(world: World, kind: 'read' | 'write', names: readonly string[], path: string): void {
  const guarded = kind === 'write' ? protectedBy(world.protection, names) : undefined
  if (guarded !== undefined) throw new PathProtectedError(path, guarded)
  const refusal = world.permit(kind, [world.area.workspace.path, ...names].join('/'))
  if (refusal !== undefined) throw new PathNotPermittedError(path, kind, refusal)
}

function existing(world: World, path: ContainedPath): MemoryNode {
  const node = nodeAt(world.tree, path.names)
  if (node === 'through-file') throw throughFile(path)
  if (node === undefined) throw new FileNotFoundError(path.asWritten)
  return node
}

function fileAt(world: World, path: ContainedPath): Extract<MemoryNode, { kind: 'file' }> {
  const node = existing(world, path)
  if (node.kind === 'directory') {
    throw new FileKindError(path.asWritten, 'is a directory; list it, or name a file in it')
  }
  return node
}

function throughFile(path: ContainedPath): FileKindError {
  return new FileKindError(path.asWritten, 'runs through a file as if it were a directory; use another path')
}

function statOf(node: MemoryNode): FileStat {
  const size = node.kind === 'file' ? node.bytes.length : 0
  return { kind: node.kind, size, mtimeMs: node.mtimeMs, mode: node.mode }
}

function list(world: World, path: ContainedPath): DirectoryEntry[] {
  const node = existing(world, path)
  if (node.kind === 'file') throw new FileKindError(path.asWritten, 'is not a directory; read it instead')
  const children = childrenOf(node)
  if (children.length > world.maxEntries) throw new DirectoryTooLargeError(path.asWritten, world.maxEntries)
  return children.map(([name, child]) =>
    child.kind === 'file' ? { name, kind: 'file', size: child.bytes.length } : { name, kind: 'directory' },
  )
}

async function write(
  world: World,
  path: ContainedPath,
  bytes: Uint8Array,
  ifVersion: string | null | undefined,
): Promise<WriteOutcome> {
  const version = await versionOf(bytes)
  const before = targetOf(world, path)
  if (ifVersion !== undefined) {
    const current = before && (await versionOf(before.bytes))
    if ((current ?? null) !== ifVersion) throw new FileChangedError(path.asWritten, ifVersion, current)
  }
  if (before !== undefined && (before.mode & 0o200) === 0) throw new FileReadOnlyError(path.asWritten)
  const mode = before?.mode ?? 0o644
  // While versions were computed others may have moved things; the last look and the change are one step.
  const created = targetOf(world, path) === undefined
  placeNode(world.tree, path.names, { kind: 'file', bytes, mode, mtimeMs: world.clock() })
  return { path: path.names.join('/'), bytes: bytes.length, created, version }
}

function targetOf(world: World, path: ContainedPath): Extract<MemoryNode, { kind: 'file' }> | undefined {
  const node = nodeAt(world.tree, path.names)
  return node === undefined ? undefined : fileAt(world, path)
}

function remove(world: World, path: ContainedPath): void {
  const node = existing(world, path)
  refuseCarrying(world, path)
  if (node.kind === 'directory' && node.children.size > 0) {
    throw new FileSystemError(
      path.asWritten,
      'ENOTEMPTY',
      'the directory is not empty; remove what is in it first',
    )
  }
  takeNode(world.tree, path.names)
}

function move(world: World, from: ContainedPath, to: ContainedPath): void {
  permit(world, 'read', from.names, from.asWritten)
  const node = existing(world, from)
  refuseCarrying(world, from)
  refuseTree(world, from, from.names, node)
  const target = nodeAt(world.tree, to.names)
  if (target === 'through-file') throw throughFile(to)
  if (from.absolute === to.absolute) return
  if (target !== undefined) throw new FileExistsError(to.asWritten)
  if (to.absolute.startsWith(`${from.absolute}/`)) {
    throw new FileSystemError(to.asWritten, 'EINVAL', 'a directory cannot be moved into itself')
  }
  takeNode(world.tree, from.names)
  placeNode(world.tree, to.names, node)
}

function refuseCarrying(world: World, path: ContainedPath): void {
  const carried =
    path.names.length === 0 ? 'the workspace root' : protectedBelow(world.protection, path.names)
  if (carried !== undefined) throw new PathProtectedError(path.asWritten, carried)
}

function refuseTree(world: World, from: ContainedPath, names: readonly string[], node: MemoryNode): void {
  if (node.kind === 'file') return
  for (const [name, child] of childrenOf(node)) {
    const inner = [...names, name]
    permit(world, 'read', inner, from.asWritten)
    permit(world, 'write', inner, from.asWritten)
    refuseTree(world, from, inner, child)
  }
}
