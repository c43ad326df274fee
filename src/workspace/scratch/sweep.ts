import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { tolerate } from '../files/system-error.js'
import { isGone, type Owner, ownerOf, thisProcess } from './owner.js'
import { removeTree } from './remove-tree.js'

export type SweepReport = {
  readonly removed: readonly string[]
  /** The number of directories that are in use, belong to other users or machines, or are not scratch directories. */
  readonly kept: number
  readonly problems: readonly string[]
}

/** Removes the scratch directories of dead processes in `baseDir`. One that may still be in use is not removed. */
export async function sweepScratch(baseDir: string, self: Owner = thisProcess()): Promise<SweepReport> {
  const removed: string[] = []
  const problems: string[] = []
  const names: string[] = await readdir(baseDir).catch(tolerate(['ENOENT'], []))
  for (const name of names) {
    const owner = ownerOf(name)
    if (owner === undefined || !isGone(owner, self)) continue
    try {
      const { dev, ino } = await lstat(join(baseDir, name), { bigint: true })
      if (await removeTree(baseDir, name, { dev, ino })) removed.push(name)
    } catch (thrown) {
      // A directory that cannot be removed must not prevent a session from starting.
      problems.push(`${name}: ${messageOf(thrown)}`)
    }
  }
  return { removed, kept: names.length - removed.length, problems }
}
