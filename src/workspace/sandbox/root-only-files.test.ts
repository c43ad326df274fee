import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { searchRootOnly } from './root-only-files.js'

describe.runIf(process.getuid?.() === 0)('the search for files that only root can read', () => {
  it('lists unreadable files and directories, and hides a directory with many of them as a whole', async () => {
    const place = temporaryDirectory()
    chmodSync(place, 0o755)
    const write = (path: string, mode: number) => writeFileSync(join(place, path), 'x', { mode })
    for (const directory of ['few', 'many', 'closed']) mkdirSync(join(place, directory), { mode: 0o755 })
    chmodSync(join(place, 'closed'), 0o700)
    write('few/open', 0o644)
    write('few/secret', 0o600)
    for (let number = 0; number < 17; number++) write(`many/${number}`, 0o600)
    writeFileSync(join(place, 'few/lock'), '', { mode: 0o600 })
    for (let number = 0; number < 17; number++) write(`${number}`, 0o640)

    const found = await searchRootOnly([place])
    const atTop = found.filter((path) => /\/\d+$/.test(path) && !path.includes('many'))

    expect(found.filter((path) => !atTop.includes(path)).sort()).toEqual(
      ['closed', 'few/secret', 'many'].map((path) => join(place, path)),
    )
    expect(atTop).toHaveLength(17)
  })
})
