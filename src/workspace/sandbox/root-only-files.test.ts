import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { searchRootOnly } from './root-only-files.js'

describe.runIf(process.getuid?.() === 0)('the search for files that only root can read', () => {
  it.each([
    ['with find', {}],
    ['without find', { path: '/nonexistent' }],
    ['when find is not done in time', { timeoutMs: 1 }],
  ])('lists unreadable files and directories, and hides a full directory as a whole, %s', async (_, how) => {
    const place = temporaryDirectory()
    chmodSync(place, 0o755)
    const write = (path: string, mode: number) => writeFileSync(join(place, path), 'x', { mode })
    for (const directory of ['few', 'many', 'closed']) mkdirSync(join(place, directory), { mode: 0o755 })
    chmodSync(join(place, 'closed'), 0o700)
    write('few/open', 0o644)
    write('few/secret', 0o600)
    for (let number = 0; number < 17; number++) write(`many/${number}`, 0o600)
    writeFileSync(join(place, 'few/lock'), '', { mode: 0o600 })
    writeFileSync(join(place, 'few/of another'), 'x', { mode: 0o600 })
    chownSync(join(place, 'few/of another'), 65_534, 65_534)
    mkdirSync(join(place, 'few/of another user'), { mode: 0o700 })
    chownSync(join(place, 'few/of another user'), 65_534, 65_534)
    mkdirSync(join(place, '1/2/3'), { recursive: true, mode: 0o755 })
    for (const path of ['1/2/3/deep\nsecret', '1/2/3/too deep/secret']) {
      mkdirSync(join(place, dirname(path)), { recursive: true, mode: 0o755 })
      write(path, 0o600)
    }
    for (let number = 0; number < 17; number++) write(`top ${number}`, 0o640)

    const found = await searchRootOnly([place], how)
    const atTop = found.filter((path) => path.startsWith(join(place, 'top ')))

    expect(found.filter((path) => !atTop.includes(path)).sort()).toEqual(
      ['1/2/3/deep\nsecret', 'closed', 'few/secret', 'many'].map((path) => join(place, path)),
    )
    expect(atTop).toHaveLength(17)
  })
})
