import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryFiles } from '../../../src/workspace/files/index.js'
import { shownPath } from '../../../src/workspace/files/shown-path.js'
import { propertyRuns } from '../../support/property-runs.js'
import { codeOf, createScene } from './fixture.js'

const tenGigabytes = 10 * 1024 ** 3

describe('content', () => {
  it('SEC-022 a sparse file of 10 GB is read in parts within 50 MB', async () => {
    const scene = createScene()
    const files = scene.files()
    const file = openSync(join(scene.workspace, 'huge'), 'w')
    ftruncateSync(file, tenGigabytes)
    closeSync(file)
    const before = process.memoryUsage().rss
    expect(await codeOf(scene, files.read('huge'))).toBe('file_too_large')
    expect(await codeOf(scene, files.read('huge', { maxBytes: Number.MAX_SAFE_INTEGER }))).toBe(
      'file_too_large',
    )
    expect(await codeOf(scene, files.readText('huge'))).toBe('file_too_large')
    expect(await codeOf(scene, files.readRange('huge', 0, tenGigabytes))).toBe('file_too_large')
    expect((await files.readRange('huge', tenGigabytes - 10, tenGigabytes + 10)).length).toBe(10)
    expect((await files.readRange('huge', tenGigabytes - 10_000_000, tenGigabytes)).length).toBe(10_000_000)
    for (let i = 0; i < 200; i++) await files.readRange('huge', i * 50_000_000, i * 50_000_000 + 65_536)
    expect((await files.stat('huge')).size).toBe(tenGigabytes)
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024)
  })

  it('SEC-026 random contents are read back byte for byte', async () => {
    const scene = createScene(existsSync('/dev/shm') ? '/dev/shm' : undefined)
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .array(fc.constantFrom('\r\n', '\n', '\r', '\ufeff', 'a', 'é', '🦀', '\0'), { maxLength: 40 })
        .map((parts) => Buffer.from(parts.join(''))),
    )
    for (const [files, numRuns] of [
      [scene.files(), propertyRuns(1000)],
      [createMemoryFiles(), propertyRuns(9000)],
    ] as const) {
      await fc.assert(
        fc.asyncProperty(bytes, async (content) => {
          await files.write('f', content)
          const read = await files.read('f')
          expect(Buffer.from(read.bytes).equals(content)).toBe(true)
          // As text it comes back the same, too, or is refused.
          const text = await files.readText('f').catch(() => undefined)
          if (text !== undefined) {
            expect((await files.write('f', text, { ifVersion: read.version })).version).toBe(read.version)
          }
        }),
        { numRuns },
      )
    }
  })

  it('SEC-027 no setuid bit is kept, no device is written to, and new files are not executable', async () => {
    const scene = createScene()
    const files = scene.files()
    const at = (name: string): string => join(scene.workspace, name)
    writeFileSync(at('suid'), 'old')
    chmodSync(at('suid'), 0o6755)
    await files.write('suid', 'new')
    expect(statSync(at('suid')).mode & 0o7777).toBe(0o755)
    await files.write('fresh', '')
    expect(statSync(at('fresh')).mode & 0o7777).toBe(0o666 & ~process.umask())
    await files.write('shebang', '#!/bin/sh\n')
    expect(statSync(at('shebang')).mode & 0o111).toBe(0)
    // Only looked at: a test must not be able to replace a device of the machine it runs on.
    symlinkSync('/dev/null', at('null'))
    expect(await codeOf(scene, files.stat('null'))).toBe('path_outside')
    expect(await codeOf(scene, files.resolve('null'))).toBe('path_outside')
  })

  it('SEC-027 a file keeps its owner when root replaces it', async () => {
    const scene = createScene()
    const path = join(scene.workspace, 'f')
    writeFileSync(path, 'old')
    const before = statSync(path)
    await scene.files().write('f', 'new')
    const after = statSync(path)
    expect([after.uid, after.gid]).toEqual([before.uid, before.gid])
    expect(after.ino).not.toBe(before.ino)
  })

  it('SEC-032 names that look alike are different files, and are shown differently', async () => {
    const scene = createScene()
    const files = scene.files()
    const names = ['caf\u00e9', 'cafe\u0301', 'a\u202etxt.exe', 'a\uff0fb', 'a', 'a ', 'a.', 'a\u200b']
    for (const name of names) await files.write(name, name)
    // A volume may take the two forms of é for one name; then they are one file here as well.
    const kept = readdirSync(scene.workspace)
    expect(kept.length).toBe(process.platform === 'linux' ? names.length : kept.length)
    for (const name of kept)
      expect(await files.readText(name)).toBe(readFileSync(join(scene.workspace, name), 'utf8'))
    const shown = names.map(shownPath)
    expect(new Set(shown).size).toBe(names.length)
    for (const text of shown) expect(text).toMatch(/^"[\x20-\x7eé]+"$/)
    expect(await codeOf(scene, files.read('..\uff0fC'))).toBe('file_not_found')
    expect(await codeOf(scene, files.read('\uff0e\uff0e/C'))).toBe('file_not_found')
  })
})
