import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { tolerate } from '../files/system-error.js'
import { isGone, type Owner, ownerOf, thisProcess } from './owner.js'
import { removeTree } from './remove-tree.js'

export type SweepReport = {
  readonly removed: readonly string[]
  /** Directories that are in use, of other users or machines, or not scratch directories at all. */
  readonly kept: number
  readonly problems: readonly string[]
}

/** Removes the scratch directories that dead processes left in `baseDir`. What is not surely left behind stays. */
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
      // One that cannot be removed must not keep a session from starting.
      problems.push(`${name}: ${messageOf(thrown)}`)
    }
  }
  return { removed, kept: names.length - removed.length, problems }
}
