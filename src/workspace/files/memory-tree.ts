/** A tree of files in memory. Names are compared exactly, as on Linux. */
export type MemoryFile = {
  readonly kind: 'file'
  readonly bytes: Uint8Array
  readonly mode: number
  readonly mtimeMs: number
}
export type MemoryDirectory = {
  readonly kind: 'directory'
  readonly children: Map<string, MemoryNode>
  readonly mode: number
  readonly mtimeMs: number
}
export type MemoryNode = MemoryFile | MemoryDirectory
export type MemoryTree = { readonly root: MemoryDirectory }

export function createTree(mtimeMs: number): MemoryTree {
  return { root: directory(mtimeMs) }
}

/** Returns the node at a path; undefined when there is none; `through-file` when a parent is a file. */
export function nodeAt(tree: MemoryTree, names: readonly string[]): MemoryNode | 'through-file' | undefined {
  let node: MemoryNode = tree.root
  for (const name of names) {
    if (node.kind === 'file') return 'through-file'
    const child: MemoryNode | undefined = node.children.get(name)
    if (child === undefined) return undefined
    node = child
  }
  return node
}

/** Stores a node at a path and creates its parent directories. The caller has checked that no parent is a file. */
export function placeNode(tree: MemoryTree, names: readonly string[], node: MemoryNode): void {
  let at = tree.root
  for (const name of names.slice(0, -1)) {
    const child = at.children.get(name)
    const next = child?.kind === 'directory' ? child : directory(node.mtimeMs)
    at.children.set(name, next)
    at = next
  }
  const last = names.at(-1)
  if (last !== undefined) at.children.set(last, node)
}

export function takeNode(tree: MemoryTree, names: readonly string[]): void {
  const parent = nodeAt(tree, names.slice(0, -1))
  const last = names.at(-1)
  if (typeof parent === 'object' && parent.kind === 'directory' && last !== undefined)
    parent.children.delete(last)
}

function directory(mtimeMs: number): MemoryDirectory {
  return { kind: 'directory', children: new Map(), mode: 0o755, mtimeMs }
}
