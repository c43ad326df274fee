import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import type { GrepOutcome, GrepRequest } from '../tool/runtime.js'
import { grepTool } from './grep.js'

async function grep(space: ToolboxWorkspace, args: Record<string, unknown>): Promise<string> {
  const envelope = await space.call(grepTool, args)
  if (envelope.type === 'error') return envelope.error_text
  return typeof envelope.data === 'string' ? envelope.data : JSON.stringify(envelope.data)
}

const lines = ['zero', 'one', 'two foo', 'three', 'four', 'five', 'six', 'seven Foo', 'eight'].join('\n')

describe('content', () => {
  it('marks matches, and counts matches and files', async () => {
    const space = await toolboxWorkspace({ 'b.ts': 'a\nfoo bar\n', 'src/a.ts': 'foo\n' })
    expect(await grep(space, { pattern: 'fo+' })).toBe(
      '>b.ts:2: foo bar\n>src/a.ts:1: foo\n\n2 match(es) in 2 file(s)',
    )
  })

  it('indents lines of context, and separates groups', async () => {
    const space = await toolboxWorkspace({ 'a.txt': lines })
    expect(await grep(space, { pattern: 'foo', context: 1, ignore_case: true })).toBe(
      [
        ' a.txt:2: one',
        '>a.txt:3: two foo',
        ' a.txt:4: three',
        '--',
        ' a.txt:7: six',
        '>a.txt:8: seven Foo',
        ' a.txt:9: eight',
        '',
        '2 match(es) in 1 file(s)',
      ].join('\n'),
    )
    expect(await grep(space, { pattern: 'foo', before: 1 })).toContain(
      ' a.txt:2: one\n>a.txt:3: two foo\n\n1 match',
    )
    expect(await grep(space, { pattern: 'foo', '-i': true, after: 5 })).not.toContain('--')
    expect(await grep(space, { pattern: 'foo', context: 2, before: 0 })).not.toContain('one')
  })

  it('separates groups of different files', async () => {
    const space = await toolboxWorkspace({ a: 'x\n', b: 'x\n' })
    expect(await grep(space, { pattern: 'x', context: 1 })).toContain('>a:1: x\n--\n>b:1: x')
    expect(await grep(space, { pattern: 'x' })).not.toContain('--')
  })

  it('reports when nothing matches', async () => {
    const space = await toolboxWorkspace({ a: 'x\n' })
    expect(await grep(space, { pattern: 'nope' })).toBe('No matches found for pattern: nope')
  })

  it('is limited to a path, a file and a glob', async () => {
    const space = await toolboxWorkspace({ 'a/x.ts': 'foo', 'a/y.tsx': 'foo', 'b/z.js': 'foo' })
    expect(await grep(space, { pattern: 'foo', path: 'a' })).toContain('2 match(es) in 2 file(s)')
    expect(await grep(space, { pattern: 'foo', path: 'b/z.js' })).toContain('>b/z.js:1: foo')
    expect(await grep(space, { pattern: 'foo', glob: '*.{ts,tsx}' })).not.toContain('z.js')
    expect(await grep(space, { pattern: 'foo', path: '../x' })).toContain('outside the workspace')
    expect(await grep(space, { pattern: 'foo', path: 'gone' })).toContain('does not exist')
  })

  it('cuts long lines with a mark', async () => {
    const space = await toolboxWorkspace({ 'min.js': `${'a'.repeat(5_000)}needle${'b'.repeat(5_000)}` })
    const text = await grep(space, { pattern: 'needle' })
    expect(text).toMatch(/^>min\.js:1: …a+needleb+…\n/)
    expect(text.length).toBeLessThan(1_300)
  })
})

describe('other outputs', () => {
  it('are the files, and the counts', async () => {
    const space = await toolboxWorkspace({ a: 'x\nx\n', b: 'x\n', c: 'y\n' })
    expect(await grep(space, { pattern: 'x', output_mode: 'files_with_matches' })).toBe(
      'a\nb\n\n3 match(es) in 2 file(s)',
    )
    expect(await grep(space, { pattern: 'x', output_mode: 'count' })).toBe(
      'a: 2\nb: 1\n\n3 match(es) in 2 file(s)',
    )
  })
})

describe('too many matches', () => {
  it('are counted, 200 are shown, and more are saved in a file', async () => {
    const space = await toolboxWorkspace({ a: 'x\n'.repeat(150), b: 'x\n-\n_\n'.repeat(300) })
    const envelope = await space.call(grepTool, { pattern: 'x', context: 1 })
    expect(envelope.metadata).toMatchObject({ truncated: true, matches: 450, files: 2 })
    const { head, total } = (envelope as { data: { head: string; total: number } }).data
    expect(total).toBe(450)
    expect(head.match(/^>/gm)).toHaveLength(200)
    expect(head).toContain(
      'Found 450 match(es) in 2 file(s) (output truncated: the first 200 matches are shown)',
    )
    expect(head).toContain('Narrow it')
    const whole = await space.runtime.files?.readText(envelope.metadata.output_path ?? '')
    expect(whole?.match(/^>/gm)).toHaveLength(450)
    // The context of the last match shown, and not that of the next.
    expect(head).toMatch(/>b:148: x\n b:149: -\n\nFound/)
  })

  it('are the same without a place for a file', async () => {
    const space = await toolboxWorkspace({ a: 'x\n'.repeat(201) })
    const { search } = space.runtime
    const envelope = await grepTool.execute({ pattern: 'x' }, { runtime: search ? { search } : {} })
    expect(envelope).toMatchObject({ type: 'output', data: { total: 201 }, metadata: { truncated: true } })
    expect(envelope.metadata.output_path).toBeUndefined()
  })
})

describe('errors', () => {
  it('name the pattern', async () => {
    const space = await toolboxWorkspace({ a: 'x' })
    expect(await grep(space, { pattern: 'foo(' })).toMatch(/^Invalid regex pattern 'foo\(': unclosed group/)
    expect(await grep(space, { pattern: '(?=a)b' })).toMatch(
      /^Invalid regex pattern '\(\?=a\)b': look-around/,
    )
    expect(await grep(space, { pattern: 'a\nb' })).toMatch(/^Invalid regex pattern 'a\nb': .*line break/s)
  })

  it('name the part that a host does not provide', async () => {
    const envelope = await grepTool.execute({ pattern: 'x' }, {})
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('runtime.search') })
  })

  it('reject unknown arguments', async () => {
    const space = await toolboxWorkspace({})
    expect(await grep(space, { pattern: 'x', regex: true })).toContain('regex')
  })
})

it('reports clearly when a search is not complete', async () => {
  const partial: GrepOutcome = {
    lines: [{ path: 'a', line: 1, text: 'x', match: true }],
    files: [],
    matches: 1,
    fileCount: 1,
    truncated: true,
    incomplete: 'The search was stopped after 5 ms; narrow it with a path or a glob.',
  }
  const searching = (outcome: GrepOutcome) => ({
    search: {
      grep: async (_: GrepRequest) => outcome,
      glob: async () => ({ paths: [], total: 0, truncated: false }),
    },
  })
  expect(await grepTool.call({ pattern: 'x' }, { runtime: searching(partial) })).toBe(
    '>a:1: x\n\nat least 1 match(es) in 1 file(s)\nIncomplete: The search was stopped after 5 ms; narrow it with a path or a glob.',
  )
  const none = { ...partial, lines: [], matches: 0, fileCount: 0 }
  expect(await grepTool.call({ pattern: 'x' }, { runtime: searching(none) })).toContain(
    'Incomplete: The search',
  )
})

describe('the searched files', () => {
  it('respect .gitignore, include hidden files, and exclude binary ones and links', async () => {
    const space = await toolboxWorkspace({
      '.gitignore': 'ignored/\n*.log\n',
      'ignored/a': 'needle',
      'x.log': 'needle',
      '.hidden/a': 'needle',
      'bin.dat': new Uint8Array([110, 101, 101, 100, 108, 101, 0, 1, 2]),
      'real.txt': 'needle',
    })
    symlinkSync('real.txt', join(space.root, 'link.txt'))
    symlinkSync('/', join(space.root, 'top'))
    expect(await grep(space, { pattern: 'needle', output_mode: 'files_with_matches' })).toBe(
      '.hidden/a\nreal.txt\n\n2 match(es) in 2 file(s)',
    )
  })

  it('can have any name, and names with line breaks are shown in quotes', async () => {
    const names = [
      "it's",
      'a "b"',
      '-rf',
      ' lead',
      'ünï 😀',
      '$(x)',
      'a\n>b:1: forged',
      'tab\there',
      '\u001b[2J',
    ]
    const space = await toolboxWorkspace(Object.fromEntries(names.map((name) => [name, 'needle\n'])))
    const text = await grep(space, { pattern: 'needle' })
    expect(text.split('\n')).toHaveLength(names.length + 2)
    for (const shown of [">it's:1", '>"a \\"b\\"":1', '>-rf:1', '>" lead":1', '>ünï 😀:1', '>$(x):1'])
      expect(text).toContain(shown)
    expect(text).toContain('>"a\\n>b:1: forged":1: needle')
    expect(text).toContain('>"\\u001b[2J":1')
  })

  it('can be in deep directories, and unreadable ones are skipped', async () => {
    const deep = Array.from({ length: 60 }, (_, at) => `d${at}`).join('/')
    const space = await toolboxWorkspace({ [`${deep}/f`]: 'needle', closed: 'needle', ok: 'needle' })
    mkdirSync(join(space.root, 'no'))
    writeFileSync(join(space.root, 'no/f'), 'needle')
    chmodSync(join(space.root, 'closed'), 0)
    chmodSync(join(space.root, 'no'), 0)
    const text = await grep(space, { pattern: 'needle', output_mode: 'files_with_matches' })
    expect(text).toContain(`${deep}/f`)
    expect(text).toContain('ok')
    // A caller that can read everything finds four; other callers get a note that something is missing.
    expect(text.includes('4 match(es)') || text.includes('could not be read')).toBe(true)
    chmodSync(join(space.root, 'no'), 0o700)
  })

  it('do not include files that the call is not allowed to read', async () => {
    const space = await toolboxWorkspace(
      { '.env': 'needle', a: 'needle' },
      { permit: { path: (_, real) => (real.endsWith('.env') ? 'no' : undefined) } },
    )
    expect(await grep(space, { pattern: 'needle' })).toBe('>a:1: needle\n\n1 match(es) in 1 file(s)')
  })
})

it('has a complete definition', () => {
  expect(grepTool).toMatchObject({ kind: 'search', idempotent: true, limits: { maxItems: 200 } })
  expect(grepTool.requires).toEqual({ fs: { read: ['{workspace}/**'] } })
  expect(grepTool.touches({ pattern: 'x' })).toEqual([{ fs: 'read', path: '.' }])
  expect(grepTool.touches({ pattern: 'x', path: 'src' })).toEqual([{ fs: 'read', path: 'src' }])
})
