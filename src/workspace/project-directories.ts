import { lstatSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'

/** A directory that files of a project are looked for in, and the tree that they must really lie in. */
export type ProjectDirectory = { readonly directory: string; readonly tree: string }

/** From the root of the repository that holds the workspace down to it; the workspace alone when there is none. */
export function projectDirectories(root: string): ProjectDirectory[] {
  const chain: string[] = []
  for (let at = root; ; at = dirname(at)) {
    chain.unshift(at)
    // Above the workspace only a repository of the same people counts: any user can put one into a shared directory.
    if (isOurs(join(at, '.git'), root))
      return chain.map((directory) => ({ directory, tree: chain[0] ?? root }))
    if (dirname(at) === at || chain.length > deepest) return [{ directory: root, tree: root }]
  }
}

const deepest = 64

/** Whether it is there and belongs to who owns the workspace, to this user or to the system. */
function isOurs(path: string, root: string): boolean {
  const owner = statOf(path)?.uid
  return owner !== undefined && [statOf(root)?.uid, process.getuid?.() ?? owner, 0].includes(owner)
}

/** Synchronous: the root was resolved a moment ago, and most of what is asked about is not there. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}
