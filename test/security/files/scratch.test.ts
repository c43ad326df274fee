import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createScratch } from '../../../src/workspace/scratch/index.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'

describe('sidecar files', () => {
  it('SEC-030 have unguessable names and the modes 0700 and 0600, and a planted link is not followed', async () => {
    const top = temporaryDirectory()
    const base = join(top, 'shared')
    mkdirSync(base, { mode: 0o700 })
    const canary = join(top, 'C')
    writeFileSync(canary, 'canary')
    // What an attacker could plant beforehand: every name without the secret part.
    for (const name of ['capstan', 'scratch', 's', 'response.md', 'output.txt'])
      symlinkSync(canary, join(base, name))
    const [one, two] = [createScratch({ baseDir: base }), createScratch({ baseDir: base })]
    const paths = [
      await one.write('output', 'a'),
      await one.write('output', 'b'),
      await two.write('output', 'c'),
    ]
    const secrets = [
      ...paths.map((path) => basename(path)),
      ...paths.map((path) => basename(dirname(path))),
    ].map((name) => /([0-9a-f]{32})(?:\.txt)?$/.exec(name)?.[1])
    // 128 random bits in each name: three files in two directories, no two alike.
    expect(new Set(secrets).size).toBe(5)
    for (const path of paths) {
      expect(statSync(path).mode & 0o7777).toBe(0o600 & ~process.umask())
      expect(lstatSync(dirname(path)).mode & 0o7777).toBe(0o700)
    }
    expect(readFileSync(canary, 'utf8')).toBe('canary')
    await Promise.all([one.close(), two.close()])
    expect(readdirSync(base)).toHaveLength(5)
    expect(readFileSync(canary, 'utf8')).toBe('canary')
  })
})
