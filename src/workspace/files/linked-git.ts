import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/**
 * Returns where a workspace's `.git` points when it is not a directory itself: a link, or a file with `gitdir: <path>`
 * (worktrees, submodules, `--separate-git-dir`). The target is a git directory under another name, with the same hooks.
 */
export async function linkedGitDirectories(root: string): Promise<readonly string[]> {
  const path = join(root, '.git')
  try {
    const stat = await lstat(path)
    if (stat.isDirectory()) return []
    const target = stat.isFile() ? await pointedAt(path) : '.'
    return target === undefined ? [] : [await realpath(resolve(stat.isFile() ? root : path, target))]
  } catch {
    // The path does not exist or leads nowhere: there is no git directory to protect.
    return []
  }
}

async function pointedAt(path: string): Promise<string | undefined> {
  const file = await open(
    path,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  )
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0)
    return /^gitdir: ([^\r\n]+)/.exec(buffer.toString('utf8', 0, bytesRead))?.[1]
  } finally {
    await file.close()
  }
}
