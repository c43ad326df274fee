import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import type { RuntimeSearch } from '../../tool/runtime.js'
import { createFallbackSearch } from './fallback-search.js'
import { createLocalSearch } from './local-search.js'

let root = ''
beforeEach(() => {
  root = temporaryDirectory()
})

function files(contents: Record<string, string | Buffer>): void {
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
}

type Make = (options?: {
  permit?: (path: string) => string | undefined
  deadlineMs?: number
}) => RuntimeSearch
const withRipgrep: Make = (options) => createLocalSearch({ root, permit: () => undefined, ...options })
const withFallback: Make = (options) => createFallbackSearch({ root, permit: () => undefined, ...options })
const withoutBinary: Make = (options) =>
  createLocalSearch({ root, permit: () => undefined, ripgrep: join(root, 'no-such-rg'), ...options })

describe.each([
  ['ripgrep', withRipgrep],
  ['the fallback', withFallback],
  ['a missing ripgrep', withoutBinary],
])('search with %s', (_name, make) => {
  const found = async (search: RuntimeSearch, pattern: string, more = {}) => {
    const { lines } = await search.grep({ pattern, limit: 100, ...more })
    return lines.map(({ path, line, text, match }) => `${path}:${line}${match ? ':' : '-'}${text}`)
  }

  it('returns matches by path and line', async () => {
    files({ 'b.txt': 'one\nfoo two\n', 'a/z.txt': 'foo\n', 'a.txt': 'x\nfoo\nfoo bar' })
    const outcome = await make().grep({ pattern: 'fo+', limit: 100 })
    expect(outcome).toEqual({
      lines: [
        { path: 'a.txt', line: 2, text: 'foo', match: true },
        { path: 'a.txt', line: 3, text: 'foo bar', match: true },
        { path: 'a/z.txt', line: 1, text: 'foo', match: true },
        { path: 'b.txt', line: 2, text: 'foo two', match: true },
      ],
      files: [],
      matches: 4,
      fileCount: 3,
      truncated: false,
    })
  })

  it('keeps the first by path and counts the rest', async () => {
    const contents: Record<string, string> = {}
    for (let index = 10; index < 40; index += 1) contents[`f${index}`] = 'foo\nfoo\n'
    files(contents)
    const outcome = await make().grep({ pattern: 'foo', limit: 3 })
    expect(outcome.lines.map(({ path, line }) => `${path}:${line}`)).toEqual(['f10:1', 'f10:2', 'f11:1'])
    expect(outcome).toMatchObject({ matches: 60, truncated: true })
    const counted = await make().grep({ pattern: 'foo', limit: 2, mode: 'count' })
    expect(counted).toEqual({
      lines: [],
      files: [
        { path: 'f10', count: 2 },
        { path: 'f11', count: 2 },
      ],
      matches: 60,
      fileCount: 30,
      truncated: true,
    })
    const none = await make().grep({ pattern: 'foo', limit: 0 })
    expect(none).toMatchObject({ lines: [], matches: 60, truncated: true })
  })

  it('returns context, and not that of omitted matches', async () => {
    files({ a: '1\n2\nfoo\n4\n5\n6\n7\nfoo\n9\n' })
    const search = make()
    expect(await found(search, 'foo', { before: 1, after: 1 })).toEqual([
      'a:2-2',
      'a:3:foo',
      'a:4-4',
      'a:7-7',
      'a:8:foo',
      'a:9-9',
    ])
    expect(await found(search, 'foo', { before: 1, after: 2, limit: 1 })).toEqual([
      'a:2-2',
      'a:3:foo',
      'a:4-4',
      'a:5-5',
    ])
    expect(await found(search, 'foo', { before: 9, after: 9, limit: 1 })).toEqual([
      'a:1-1',
      'a:2-2',
      'a:3:foo',
      'a:4-4',
      'a:5-5',
      'a:6-6',
      'a:7-7',
    ])
  })

  it('respects .gitignore without a repository, searches hidden files, and skips .git', async () => {
    files({
      '.gitignore': '*.log\n/build/\n!keep.log\n',
      'a.log': 'foo',
      'keep.log': 'foo',
      'build/x': 'foo',
      'sub/build/x': 'foo',
      'sub/.gitignore': 'secret\n',
      'sub/secret': 'foo',
      'sub/deep/y.log': 'foo',
      '.hidden/x': 'foo',
      '.git/config': 'foo',
    })
    const expected = ['.hidden/x:1:foo', 'keep.log:1:foo', 'sub/build/x:1:foo']
    expect(await found(make(), 'foo')).toEqual(expected)
    expect(await found(make(), 'foo', { path: 'sub' })).toEqual(['sub/build/x:1:foo'])
    expect((await make().glob({ pattern: '**', limit: 100 })).paths).toEqual([
      '.gitignore',
      '.hidden/x',
      'keep.log',
      'sub/.gitignore',
      'sub/build/x',
    ])
  })

  it('respects the .gitignore of the searched directory’s parents, up to the root only', async () => {
    files({ '.gitignore': 'ignored\n*.x\n', 'w/.gitignore': '*.log\n', 'w/s/.gitignore': '!b.log\n' })
    files({
      'w/s/a.log': 'foo',
      'w/s/b.log': 'foo',
      'w/s/c.x': 'foo',
      'w/s/ignored/d': 'foo',
      'w/s/e': 'foo',
    })
    const inner = createLike(make, join(root, 'w'))
    expect(await found(inner, 'foo', { path: 's' })).toEqual(
      ['s/b.log', 's/c.x', 's/e', 's/ignored/d'].map((p) => `${p}:1:foo`),
    )
  })

  it('respects the .gitignore above the root when the root is in a repository', async () => {
    files({ '.gitignore': '*.log\n', '.git/HEAD': 'x', 'w/a.log': 'foo', 'w/b': 'foo', 'w/sub/c.log': 'foo' })
    const inner = createLike(make, join(root, 'w'))
    expect(await found(inner, 'foo')).toEqual(['b:1:foo'])
    expect(await found(inner, 'foo', { path: 'sub' })).toEqual([])
  })

  it('does not include ignored files because of a glob', async () => {
    files({
      '.gitignore': 'node_modules\n*.gen.ts\n',
      'node_modules/a.ts': 'foo',
      'a.gen.ts': 'foo',
      'b.ts': 'foo',
      'c.js': 'foo',
    })
    expect(await found(make(), 'foo', { glob: '*.ts' })).toEqual(['b.ts:1:foo'])
    expect((await make().glob({ pattern: '**/*.ts', limit: 9 })).paths).toEqual(['b.ts'])
  })

  it('applies globs relative to the searched path, also negated', async () => {
    files({ 'src/a/x.ts': 'foo', 'src/b/x.ts': 'foo', 'a/x.ts': 'foo' })
    expect(await found(make(), 'foo', { path: 'src', glob: 'a/*' })).toEqual(['src/a/x.ts:1:foo'])
    expect(await found(make(), 'foo', { path: 'src', glob: '!a/*' })).toEqual(['src/b/x.ts:1:foo'])
    expect((await make().glob({ pattern: join(root, 'src/**'), limit: 9 })).paths).toEqual([
      'src/a/x.ts',
      'src/b/x.ts',
    ])
  })

  it('searches one file, ignored or not, and not when it is binary', async () => {
    files({ '.gitignore': 'a*', 'a[1].txt': 'foo', 'a1.txt': 'foo', 'd/-x {y}!': 'foo', bin: 'foo\n\0' })
    expect(await found(make(), 'foo', { path: 'a[1].txt' })).toEqual(['a[1].txt:1:foo'])
    expect(await found(make(), 'foo', { path: 'd/-x {y}!' })).toEqual(['d/-x {y}!:1:foo'])
    expect(await found(make(), 'foo', { path: 'bin' })).toEqual([])
    expect(await make().grep({ pattern: 'foo', path: 'bin', limit: 1, mode: 'count' })).toMatchObject({
      matches: 0,
    })
  })

  it('skips binary files also when the first NUL comes late', async () => {
    const late = Buffer.concat([
      Buffer.from('foo\n'),
      Buffer.from('x\n'.repeat(200_000)),
      Buffer.from([0, 10]),
    ])
    files({ a: 'foo', late, z: 'foo' })
    expect(await found(make(), 'foo')).toEqual(['a:1:foo', 'z:1:foo'])
    expect((await make().grep({ pattern: 'foo', limit: 9 })).matches).toBe(2)
    expect((await make().grep({ pattern: 'foo', limit: 9, mode: 'files' })).files).toEqual([
      { path: 'a', count: 1 },
      { path: 'z', count: 1 },
    ])
  })

  it('handles names with newlines, spaces, dashes and colons', async () => {
    const names = ['-e', '--files', 'a b', 'a\nb', 'c:1:x', '\ttab', 'ünï']
    files(Object.fromEntries(names.map((name) => [name, 'foo'])))
    expect((await make().grep({ pattern: 'foo', limit: 99 })).lines.map(({ path }) => path)).toEqual(
      names.toSorted(),
    )
    expect((await make().glob({ pattern: '*', limit: 99 })).paths).toEqual(names.toSorted())
    expect(await found(make(), '-e', {})).toEqual([])
  })

  it('cuts long lines around the match', async () => {
    files({ min: `${'x'.repeat(5_000)}foo${'y'.repeat(5_000)}\n`, huge: `${'z'.repeat(300_000)}foo\nfoo\n` })
    const { lines } = await make().grep({ pattern: 'foo', limit: 9 })
    expect(lines.map(({ path, line }) => `${path}:${line}`)).toEqual(['huge:1', 'huge:2', 'min:1'])
    expect(lines[2]?.text).toMatch(/^…x{200}fooy+…$/)
    expect(lines[0]?.text).toMatch(/^z{1000}…$/)
    expect(lines[1]?.text).toBe('foo')
  })

  it('reads CRLF, byte-order marks and UTF-16 as text', async () => {
    files({
      crlf: 'foo\r\nbar\r\n',
      bom: '\uFEFFfoo\n',
      utf16: Buffer.from('\uFEFFfoo\nbar\n', 'utf16le'),
      latin: Buffer.from('f\xfcr foo', 'latin1'),
    })
    expect(await found(make(), '^foo$')).toEqual(['bom:1:foo', 'crlf:1:foo', 'utf16:1:foo'])
    expect(await found(make(), 'foo', { glob: 'latin' })).toEqual(['latin:1:f\uFFFDr foo'])
  })

  it('lists by name or newest first, with the total', async () => {
    files({ a: '', b: '', 'c/d': '', e: '' })
    for (const [name, time] of [
      ['a', 100],
      ['b', 400],
      ['c/d', 300],
      ['e', 400],
    ] as const) {
      utimesSync(join(root, name), time, time)
    }
    const search = make()
    expect(await search.glob({ pattern: '**', limit: 2 })).toEqual({
      paths: ['a', 'b'],
      total: 4,
      truncated: true,
    })
    expect((await search.glob({ pattern: '**', limit: 9, order: 'newest' })).paths).toEqual([
      'b',
      'e',
      'c/d',
      'a',
    ])
    expect(await search.glob({ pattern: 'zzz', limit: 2 })).toEqual({ paths: [], total: 0, truncated: false })
  })

  it('rejects paths outside, missing paths, and special files', async () => {
    files({ 'w/a': 'foo', 'w-evil/x': 'foo', outside: 'foo' })
    execFileSync('mkfifo', [join(root, 'w/pipe')])
    symlinkSync(root, join(root, 'w/up'))
    const inner = createLike(make, join(root, 'w'))
    for (const path of [
      '..',
      '../outside',
      '../w-evil',
      join(root, 'outside'),
      '/etc',
      'up',
      'up/outside',
      '../none',
      'a\0b',
    ]) {
      const refused = { code: 'search_path_refused' }
      await expect(inner.grep({ pattern: 'foo', path, limit: 9 })).rejects.toMatchObject(refused)
      await expect(inner.glob({ pattern: '*', path, limit: 9 })).rejects.toMatchObject(refused)
    }
    await expect(inner.grep({ pattern: 'foo', path: 'pipe', limit: 9 })).rejects.toThrow('neither a file nor')
    await expect(inner.grep({ pattern: 'foo', path: 'none', limit: 9 })).rejects.toMatchObject({
      code: 'search_path_missing',
    })
    expect(await found(inner, 'foo')).toEqual(['a:1:foo'])
  })

  it.each([['('], ['a{'], ['[a'], ['(?=a)'], ['(?<!a)b'], ['(a)\\1'], ['*a'], ['a\nb'], ['\\n'], ['']])(
    'reports what is wrong with the pattern %j',
    async (pattern) => {
      files({ a: 'foo' })
      const outcome = make().grep({ pattern, limit: 9 })
      await expect(outcome).rejects.toMatchObject({ name: 'SearchError', code: 'search_pattern_invalid' })
    },
  )

  it('fails with an ordinary error when the permit throws', async () => {
    files({ a: 'foo' })
    const search = make({
      permit() {
        throw new Error('the rules are broken')
      },
    })
    await expect(search.grep({ pattern: 'foo', limit: 9 })).rejects.toThrow('the rules are broken')
    await expect(search.glob({ pattern: '*', limit: 9 })).rejects.toThrow('the rules are broken')
  })

  it('returns an empty, incomplete answer to a caller that has stopped', async () => {
    files({ a: 'foo' })
    const signal = AbortSignal.abort()
    const stopped = { incomplete: 'The search was stopped before it was done.', truncated: true }
    expect(await make().grep({ pattern: 'foo', limit: 9, signal })).toMatchObject(stopped)
    expect(await make().glob({ pattern: '*', limit: 9, signal })).toMatchObject(stopped)
  })

  function createLike(makeSearch: Make, at: string): RuntimeSearch {
    const before = root
    root = at
    try {
      return makeSearch()
    } finally {
      root = before
    }
  }
})

describe('a search that takes too long', () => {
  it('ends at the deadline and reports it', async () => {
    files({ a: 'foo' })
    const slow = join(root, 'slow-rg')
    writeFileSync(slow, '#!/bin/sh\nprintf "./a\\0001\\0001\\000foo\\n"\nsleep 60 & sleep 60\n', {
      mode: 0o755,
    })
    const search = createLocalSearch({ root, permit: () => undefined, ripgrep: slow, deadlineMs: 300 })
    const outcome = await search.grep({ pattern: 'foo', limit: 9 })
    expect(outcome).toMatchObject({ matches: 1, truncated: true })
    expect(outcome.incomplete).toContain('300 ms')
  })

  it('is cancelled by its caller, with all its processes', async () => {
    const slow = join(root, 'slow-rg')
    const started = join(root, 'started')
    writeFileSync(slow, `#!/bin/sh\nsleep 61.5 &\n: > "${started}"\nsleep 61.5\n`, { mode: 0o755 })
    const controller = new AbortController()
    const search = createLocalSearch({ root, permit: () => undefined, ripgrep: slow })
    const searching = search.glob({ pattern: '*', limit: 9, signal: controller.signal })
    await expect.poll(() => existsSync(started)).toBe(true)
    controller.abort()
    expect((await searching).incomplete).toContain('stopped before')
    expect(() => execFileSync('pgrep', ['-f', 'sleep 61.5'])).toThrow()
  })

  it('stops counting at a limit', async () => {
    files({ a: 'foo\n'.repeat(150_000) })
    const outcome = await withRipgrep().grep({ pattern: 'foo', limit: 2 })
    expect(outcome.lines.length).toBe(2)
    expect(outcome.matches).toBeGreaterThanOrEqual(100_000)
    expect(outcome.incomplete).toContain('100000')
  })
})
