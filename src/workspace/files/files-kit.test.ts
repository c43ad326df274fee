import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { CapstanError } from '../../tool/errors.js'
import type { RuntimeFiles } from '../../tool/runtime.js'
import type { Permit } from './access.js'
import { createLocalFiles } from './local-files.js'
import { createMemoryFiles } from './memory-files.js'
import { versionOf } from './version.js'

/** What every backend promises. A new backend is added to this table and to nothing else. */
type Options = {
  readonly permit?: Permit
  readonly protect?: readonly string[]
  readonly maxFileBytes?: number
  readonly maxEntries?: number
}
type Backend = RuntimeFiles & { resolve(path: string): Promise<string> }
const onDisk =
  (method?: 'compare') =>
  (options: Options): Backend => {
    // One level deeper than needed, so that a path which gets out by mistake still ends in a directory of ours.
    const top = temporaryDirectory()
    const root = join(top, 'w')
    mkdirSync(root)
    return createLocalFiles({ root, durable: false, ...options, ...(method === undefined ? {} : { method }) })
  }
const backends: [string, (options: Options) => Backend][] = [
  ['disk', onDisk()],
  ['disk, comparing real paths', onDisk('compare')],
  ['memory', (options) => createMemoryFiles(options)],
]
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (thrown: unknown) => (thrown instanceof CapstanError ? thrown.code : `not ours: ${thrown}`),
  )

describe.each(backends)('files: %s', (_name, create) => {
  it('reads back what it wrote, with a version of the content', async () => {
    const files = create({})
    const outcome = await files.write('src/deep/a.txt', 'hello')
    expect(outcome).toEqual({
      path: 'src/deep/a.txt',
      bytes: 5,
      created: true,
      version: await versionOf(new TextEncoder().encode('hello')),
    })
    const content = await files.read('src/deep/a.txt')
    expect(text(content.bytes)).toBe('hello')
    expect(content).toMatchObject({ size: 5, version: outcome.version })
    expect(await files.readText('./src//deep/../deep/a.txt')).toBe('hello')
    expect(await files.read(`${files.root}/src/deep/a.txt`)).toEqual(content)
    expect((await files.write('src/deep/a.txt', 'other')).created).toBe(false)
  })

  it('keeps every byte: BOM, CRLF, invalid UTF-8, empty', async () => {
    const files = create({})
    for (const bytes of [[], [0xef, 0xbb, 0xbf, 0x61, 13, 10], [0xff, 0xfe, 0x00, 0x80, 0xc3]]) {
      await files.write('b.bin', Uint8Array.from(bytes))
      expect([...(await files.read('b.bin')).bytes]).toEqual(bytes)
    }
    expect(await code(files.readText('b.bin'))).toBe('file_not_text')
    await files.write('bom.txt', Uint8Array.from([0xef, 0xbb, 0xbf, 0x61]))
    expect(await files.readText('bom.txt')).toBe('\ufeffa')
  })

  const oddNames = [
    'e\u0301.txt',
    '\u00e9.txt',
    'two words',
    `quo"te's`,
    'new\nline',
    '-rf',
    '--help',
    '\u202egnp.exe',
    'dot.',
    'space ',
    'a\uff0fb',
    '$(x)',
    '\\back',
    'émoji-🦀',
  ]
  it.each(oddNames)('accepts the name %j unchanged', async (name) => {
    const files = create({})
    await files.write(`d/${name}`, name)
    expect(await files.readText(`d/${name}`)).toBe(name)
    expect((await files.list('d')).map((entry) => entry.name)).toEqual([name])
    await files.remove(`d/${name}`)
    expect(await files.list('d')).toEqual([])
  })

  it('lists by name, with kinds and sizes', async () => {
    const files = create({})
    await files.write('z.txt', '123')
    await files.write('a/b.txt', '')
    expect(await files.list('.')).toEqual([
      { name: 'a', kind: 'directory' },
      { name: 'z.txt', kind: 'file', size: 3 },
    ])
    expect(await files.stat('z.txt')).toMatchObject({ kind: 'file', size: 3 })
    expect(await files.stat('.')).toMatchObject({ kind: 'directory' })
    expect(await code(files.list('z.txt'))).toBe('file_kind')
    expect(await code(files.list('none'))).toBe('file_not_found')
  })

  it('rejects a listing with more entries than the limit', async () => {
    const files = create({ maxEntries: 3 })
    for (const name of ['a', 'b', 'c']) await files.write(name, '')
    expect(await files.list('.')).toHaveLength(3)
    await files.write('d', '')
    expect(await code(files.list('.'))).toBe('directory_too_large')
  })

  it('reads ranges and stops at the end', async () => {
    const files = create({})
    await files.write('a', '0123456789')
    expect(text(await files.readRange('a', 2, 5))).toBe('234')
    expect(text(await files.readRange('a', 8, 99))).toBe('89')
    expect(text(await files.readRange('a', 50, 60))).toBe('')
    for (const [start, end] of [
      [-1, 2],
      [3, 2],
      [0.5, 2],
      [0, Number.NaN],
      [0, Number.POSITIVE_INFINITY],
    ] as const) {
      expect(await code(files.readRange('a', start, end))).toBe('path_invalid')
    }
  })

  it('has one size limit for reading and writing', async () => {
    const files = create({ maxFileBytes: 8 })
    await files.write('a', '12345678')
    expect(await code(files.write('a', '123456789'))).toBe('file_too_large')
    expect(await code(files.read('a', { maxBytes: 7 }))).toBe('file_too_large')
    expect(text((await files.read('a', { maxBytes: 99 })).bytes)).toBe('12345678')
  })

  it('writes only over the version that was read', async () => {
    const files = create({})
    const first = await files.write('a', 'one', { ifVersion: null })
    expect(await code(files.write('a', 'two', { ifVersion: null }))).toBe('file_changed')
    await files.write('a', 'two', { ifVersion: first.version })
    expect(await code(files.write('a', 'three', { ifVersion: first.version }))).toBe('file_changed')
    expect(await code(files.write('b', 'x', { ifVersion: first.version }))).toBe('file_changed')
    expect(await files.readText('a')).toBe('two')
    expect((await files.list('.')).map((entry) => entry.name)).toEqual(['a'])
  })

  it('lets exactly one of many conditional writers succeed, whatever spelling they use', async () => {
    const files = create({})
    const { version } = await files.write('d/a', 'start')
    const spellings = ['d/a', './d/a', 'd/../d/a', `${files.root}/d//a`]
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        code(files.write(spellings[i % 4] ?? 'd/a', `w${i}`, { ifVersion: version })),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'file_changed')).toHaveLength(19)
  })

  it('creates parents concurrently without errors', async () => {
    const files = create({})
    await Promise.all(Array.from({ length: 20 }, (_, i) => files.write(`x/y/z/${i}`, String(i))))
    expect(await files.list('x/y/z')).toHaveLength(20)
  })

  it('removes files and empty directories only', async () => {
    const files = create({})
    await files.write('d/a', '')
    expect(await code(files.remove('d'))).toBe('file_system')
    await files.remove('d/a')
    await files.remove('d')
    expect(await code(files.remove('d'))).toBe('file_not_found')
    expect(await code(files.remove('.'))).toBe('path_protected')
  })

  it('moves files and directories, and replaces nothing', async () => {
    const files = create({})
    await files.write('a', '1')
    await files.write('b', '2')
    expect(await code(files.move('a', 'b'))).toBe('file_exists')
    await files.move('a', 'new/dir/a')
    expect(await files.readText('new/dir/a')).toBe('1')
    expect(await code(files.stat('a'))).toBe('file_not_found')
    await files.move('new', 'old')
    expect(await files.readText('old/dir/a')).toBe('1')
    expect(await code(files.move('old', 'old/dir/in-itself'))).toBe('file_system')
    expect(await code(files.move('none', 'x'))).toBe('file_not_found')
    expect(await code(files.move('.', 'x'))).toBe('path_protected')
  })

  it('reports what kind of entry already has the name', async () => {
    const files = create({})
    await files.write('file', '')
    await files.write('dir/x', '')
    expect(await code(files.write('file/x', ''))).toBe('file_kind')
    expect(await code(files.read('file/x'))).toBe('file_kind')
    expect(await code(files.write('dir', ''))).toBe('file_kind')
    expect(await code(files.write('.', ''))).toBe('file_kind')
    expect(await code(files.write('new/', ''))).toBe('file_kind')
    expect(await code(files.read('dir'))).toBe('file_kind')
    expect(await code(files.read('none'))).toBe('file_not_found')
    expect(await code(files.read('no/ne'))).toBe('file_not_found')
  })

  it('rejects paths that lead out, and texts that are not a path', async () => {
    const files = create({})
    for (const path of [
      '..',
      '../x',
      'a/../../x',
      '/no-such-place/x',
      `${files.root}-evil/x`,
      `${files.root}/../x`,
    ]) {
      expect(await code(files.read(path)), path).toBe('path_outside')
      expect(await code(files.write(path, '')), path).toBe('path_outside')
    }
    for (const path of ['', 'a\0b', 'x'.repeat(5000), 'y'.repeat(300), '\ud800']) {
      expect(await code(files.read(path)), path).toBe('path_invalid')
      expect(await code(files.write(path, '')), path).toBe('path_invalid')
    }
  })

  it('checks the permit for the real paths and the operation', async () => {
    const asked: string[] = []
    const files = create({
      permit: (kind, path) => {
        asked.push(`${kind} ${path.slice(files.root.length)}`)
        if (path.includes('secret')) return 'secrets are closed.'
        return kind === 'write' && path.includes('/ro') ? 'only for reading.' : undefined
      },
    })
    await files.write('a/../b', '1')
    expect(asked).toContain('write /b')
    expect(await code(files.write('ro/x', ''))).toBe('path_not_permitted')
    expect(await code(files.stat('ro'))).toBe('file_not_found')
    expect(await code(files.read('secret'))).toBe('path_not_permitted')
    expect(await code(files.move('b', 'secret'))).toBe('path_not_permitted')
    expect(await code(files.move('b', 'ro'))).toBe('path_not_permitted')
    await expect(files.write('secret', '')).rejects.toThrow('May not write "secret": secrets are closed.')
  })

  it('does not move a directory whose content it must not read', async () => {
    let closed = false
    const files = create({ permit: (_kind, path) => (closed && path.endsWith('/key') ? 'no.' : undefined) })
    await files.write('d/e/key', 's')
    closed = true
    expect(await code(files.move('d', 'f'))).toBe('path_not_permitted')
  })

  it('protects the paths that the host names, and their parents', async () => {
    const files = create({ protect: ['conf/agent.acl', 'LOCKED'] })
    await files.write('conf/other', '')
    expect(await code(files.write('conf/agent.acl', ''))).toBe('path_protected')
    expect(await code(files.write('conf/AGENT.acl/x', ''))).toBe('path_protected')
    expect(await code(files.write('a/b/locked/x', ''))).toBe('path_protected')
    expect(await code(files.move('conf', 'elsewhere'))).toBe('path_protected')
    expect(await code(files.remove('conf'))).toBe('path_protected')
    await files.write('x/conf/agent.acl', 'free')
  })

  it('resolves paths that exist and paths that do not', async () => {
    const files = create({})
    expect(await files.resolve('./a/../b/c')).toBe(`${files.root}/b/c`)
    expect(await files.resolve('.')).toBe(files.root)
    expect(await code(files.resolve('../x'))).toBe('path_outside')
  })

  it('returns its own copy of the bytes', async () => {
    const files = create({})
    const mine = new TextEncoder().encode('abc')
    const writing = files.write('a', mine)
    mine.fill(0)
    await writing
    const first = (await files.read('a')).bytes
    first.fill(1)
    expect(await files.readText('a')).toBe('abc')
  })
})
