import { type FileSystemStat, systemError, type WorkspaceFileSystem } from './file-system.js'
import { createTree, type MemoryNode, nodeAt, placeNode, takeNode } from './memory-tree.js'

/** Options of {@link createMemoryFileSystem}. */
export type MemoryFileSystemOptions = {
  /** The virtual path of the directory that everything is in. */
  readonly root: string
  /** The initial files, by absolute path below the root. */
  readonly files?: ReadonlyMap<string, Uint8Array> | undefined
  /** Returns the time of a change. Default: each change is one millisecond after the last. */
  readonly clock?: (() => number) | undefined
}

/** Creates a file system in memory that has one root directory and no links. */
export function createMemoryFileSystem({
  root,
  files = new Map(),
  clock = countingClock(),
}: MemoryFileSystemOptions): WorkspaceFileSystem {
  const tree = createTree(clock())
  const namesOf = (path: string): readonly string[] | undefined => {
    if (path === root) return []
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1).split('/') : undefined
  }
  const below = (path: string): readonly string[] => {
    const names = namesOf(path)
    if (names === undefined) throw systemError('EACCES', 'there is nothing outside the root')
    return names
  }
  const nodeOf = (path: string): MemoryNode => {
    const node = nodeAt(tree, below(path))
    if (node === undefined || node === 'through-file') throw systemError('ENOENT', 'there is nothing')
    return node
  }
  for (const [path, bytes] of files)
    placeNode(tree, below(path), { kind: 'file', bytes, mode: 0o644, mtimeMs: clock() })
  return {
    async lstat(path) {
      const names = namesOf(path)
      // Outside the root, only its parent directories exist.
      if (names === undefined)
        return root.startsWith(path === '/' ? path : `${path}/`) ? directoryAbove : undefined
      const node = nodeAt(tree, names)
      return typeof node === 'object' ? statOf(node) : undefined
    },
    async readLink() {
      throw systemError('EINVAL', 'there are no links in memory')
    },
    async list(path) {
      const node = nodeOf(path)
      if (node.kind === 'file') throw systemError('ENOTDIR', 'it is a file')
      return Array.from(node.children, ([name, child]) =>
        child.kind === 'file'
          ? { name, kind: child.kind, size: child.bytes.length }
          : { name, kind: child.kind },
      )
    },
    async read(path, start, end) {
      const node = nodeOf(path)
      if (node.kind === 'directory') throw systemError('EISDIR', 'it is a directory')
      return node.bytes.slice(start, end)
    },
    async write(path, bytes, mode) {
      if (nodeAt(tree, below(path)) === 'through-file') throw systemError('ENOTDIR', 'a file is on the way')
      placeNode(tree, below(path), { kind: 'file', bytes: bytes.slice(), mode, mtimeMs: clock() })
    },
    async makeDirectory(path) {
      const node = nodeAt(tree, below(path))
      if (node === 'through-file' || (node !== undefined && node.kind === 'file'))
        throw systemError('ENOTDIR', 'a file is on the way')
      if (node === undefined)
        placeNode(tree, below(path), {
          kind: 'directory',
          children: new Map(),
          mode: 0o755,
          mtimeMs: clock(),
        })
    },
    async remove(path) {
      const node = nodeOf(path)
      if (node.kind === 'directory' && node.children.size > 0)
        throw systemError('ENOTEMPTY', 'the directory is not empty')
      takeNode(tree, below(path))
    },
    async move(from, to) {
      const node = nodeOf(from)
      if (nodeAt(tree, below(to)) !== undefined) throw systemError('EEXIST', 'something is there')
      takeNode(tree, below(from))
      placeNode(tree, below(to), node)
    },
  }
}

const directoryAbove: FileSystemStat = { kind: 'directory', size: 0, mtimeMs: 0, mode: 0o755 }

function statOf(node: MemoryNode): FileSystemStat {
  const size = node.kind === 'file' ? node.bytes.length : 0
  return { kind: node.kind, size, mtimeMs: node.mtimeMs, mode: node.mode, changedAtMs: node.mtimeMs }
}

function countingClock(): () => number {
  let ticks = 0
  return () => ++ticks
}
