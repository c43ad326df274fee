import { lstatSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'

/** A directory in which files of a project are looked for, and the tree that their real paths must be in. */
export type ProjectDirectory = { readonly directory: string; readonly tree: string }

/** Returns the directories from the root of the repository to the workspace; without one, the workspace only. */
export function projectDirectories(root: string): ProjectDirectory[] {
  const chain: string[] = []
  for (let at = root; ; at = dirname(at)) {
    chain.unshift(at)
    // Above the workspace, the owner of a repository is checked: any user can create one in a shared directory.
    if (isOurs(join(at, '.git'), root))
      return chain.map((directory) => ({ directory, tree: chain[0] ?? root }))
    if (dirname(at) === at || chain.length > deepest) return [{ directory: root, tree: root }]
  }
}

const deepest = 64

/** Whether a path exists and belongs to the owner of the workspace, to this user or to the system. */
function isOurs(path: string, root: string): boolean {
  const owner = statOf(path)?.uid
  return owner !== undefined && [statOf(root)?.uid, process.getuid?.() ?? owner, 0].includes(owner)
}

/** Synchronous: the root was resolved a moment ago, and most of these paths do not exist. */
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
