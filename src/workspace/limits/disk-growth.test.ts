import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { watchDiskGrowth } from './disk-growth.js'

const megabyte = 1_000_000

describe('the disk space that a command uses', () => {
  it('includes the files that it creates', async () => {
    const directory = temporaryDirectory()
    const growth = await watchDiskGrowth([directory])
    writeFileSync(join(directory, 'new'), Buffer.alloc(9 * megabyte, 1))
    // Other tests free space meanwhile; after ten seconds the directory is walked in any case.
    await expect.poll(() => growth.exceeds(8 * megabyte, () => [])).toBe(true)
    growth.close()
  })

  it('does not include the files of a command that ended right before it', async () => {
    const directory = temporaryDirectory()
    const before = await watchDiskGrowth([directory])
    writeFileSync(join(directory, 'old'), Buffer.alloc(6 * megabyte, 1))
    before.close()
    const growth = await watchDiskGrowth([directory])
    writeFileSync(join(directory, 'new'), Buffer.alloc(5 * megabyte, 1))
    expect(await growth.exceeds(8 * megabyte, () => [])).toBe(false)
    growth.close()
  })
})
