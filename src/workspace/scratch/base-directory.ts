import { lstat, mkdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ScratchUnsafeError } from './errors.js'

/** Creates and checks the directory in which scratch directories are created, and returns its real path. */
export async function safeBase(baseDir: string): Promise<string> {
  await mkdir(baseDir, { recursive: true, mode: 0o700 })
  const stat = await lstat(baseDir)
  if (!stat.isDirectory()) throw new ScratchUnsafeError('it is a link or a file')
  const user = process.getuid?.()
  if (user === undefined) return realpath(baseDir)
  // A sticky directory such as /tmp is shared, but other users cannot rename entries of this user.
  const sticky = (stat.mode & 0o1000) !== 0
  if (stat.uid !== user && !(sticky && stat.uid === 0))
    throw new ScratchUnsafeError('it belongs to another user')
  if ((stat.mode & 0o022) !== 0 && !sticky) throw new ScratchUnsafeError('other users may write to it')
  return realpath(baseDir)
}

/** Returns the directory of this user for worktrees of tasks. It is on disk, because checkouts can be large. */
export function worktreeBase(): string {
  return join(tmpdir(), `capstan-${process.getuid?.() ?? 'user'}`)
}

/** Returns the default directory of this user for scratch directories. */
export function defaultScratchBase(): string {
  return join(process.env['XDG_RUNTIME_DIR'] ?? tmpdir(), `capstan-${process.getuid?.() ?? 'user'}`)
}
