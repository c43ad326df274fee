import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileKind } from '../../tool/runtime.js'
import type { WorkspaceFileSystem } from './file-system.js'
import { realPathOn } from './follow-links.js'
import { kindOf } from './list-directory.js'

/** How many entries are checked before the search ends. */
const maxEntries = 50_000

/**
 * Returns the first file below a directory that matches, or a text with the reason why the search ended early.
 * Undefined when there is none, and when the path is not a directory. Links are tested by their target, and not
 * followed into directories.
 */
export async function findBelow(
  directory: string,
  fits: (path: string) => boolean,
  tree: Tree = onDisk,
): Promise<string | undefined> {
  if (!(await tree.isDirectory(directory))) return undefined
  const waiting = [directory]
  let seen = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    // A command cannot read a directory that this process cannot read.
    for (const entry of await tree.entries(at).catch(() => [])) {
      const path = join(at, entry.name)
      if (++seen > maxEntries) return `more than ${maxEntries} files`
      if (fits(path)) return path
      if (entry.kind === 'directory') waiting.push(path)
      else if (entry.kind === 'symlink') {
        const real = await tree.realPath(path).catch(() => path)
        if (real !== path && fits(real)) return path
      }
    }
  }
  return undefined
}

type Tree = {
  isDirectory(path: string): Promise<boolean>
  entries(directory: string): Promise<readonly { readonly name: string; readonly kind: FileKind }[]>
  realPath(path: string): Promise<string>
}

const onDisk: Tree = {
  isDirectory: async (path) => (await stat(path).catch(() => undefined))?.isDirectory() === true,
  entries: async (directory) =>
    (await readdir(directory, { withFileTypes: true })).map((entry: Dirent) => ({
      name: entry.name,
      kind: kindOf(entry),
    })),
  realPath: (path) => realpath(path),
}

/** Returns the directories of a backend, for {@link findBelow}. */
export function treeOn(fileSystem: WorkspaceFileSystem): Tree {
  const realPath = async (path: string): Promise<string> => (await realPathOn(fileSystem, path, true)) ?? path
  return {
    isDirectory: async (path) => {
      const found = await realPath(path).then(
        (real) => fileSystem.lstat(real),
        () => undefined,
      )
      return found?.kind === 'directory'
    },
    entries: (directory) => fileSystem.list(directory, maxEntries),
    realPath,
  }
}
