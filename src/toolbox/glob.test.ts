import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { createLocalSearch } from '../workspace/search/index.js'
import { globTool } from './glob.js'

async function glob(space: ToolboxWorkspace, args: Record<string, unknown>): Promise<string> {
  const envelope = await space.call(globTool, args)
  if (envelope.type === 'error') return envelope.error_text
  return typeof envelope.data === 'string' ? envelope.data : JSON.stringify(envelope.data)
}

it('lists files by name, and says that the list is complete', async () => {
  const space = await toolboxWorkspace({ 'b.ts': '', 'src/a.ts': '', 'src/deep/c.ts': '', 'x.js': '' })
  expect(await glob(space, { pattern: '*.ts' })).toBe('b.ts\nsrc/a.ts\nsrc/deep/c.ts\n\n3 of 3 file(s) shown')
  expect(await glob(space, { pattern: 'src/*.ts' })).toBe('src/a.ts\n\n1 of 1 file(s) shown')
  expect(await glob(space, { pattern: '*.ts', path: 'src/deep' })).toContain('src/deep/c.ts')
})

it('lists the newest first on request', async () => {
  const space = await toolboxWorkspace({ a: '', b: '', c: '' })
  for (const [at, name] of ['b', 'c', 'a'].entries()) utimesSync(join(space.root, name), 1000 - at, 1000 - at)
  expect(await glob(space, { pattern: '*', order: 'newest' })).toBe('b\nc\na\n\n3 of 3 file(s) shown')
})

it('reports when nothing matches, and what to try', async () => {
  const space = await toolboxWorkspace({ a: '' })
  expect(await glob(space, { pattern: 'src/*.rs' })).toBe(
    'No files found matching pattern: src/*.rs\nA pattern with a slash starts at the searched directory: put **/ in front to match at any depth.',
  )
  expect(await glob(space, { pattern: '*.rs' })).toContain('.gitignore')
})

it('shows 1,000 files, marked as incomplete, and saves more in a file', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 1_001 }, (_, at) => [`f${String(at).padStart(4, '0')}`, '']),
  )
  const space = await toolboxWorkspace(files)
  const envelope = await space.call(globTool, { pattern: 'f*' })
  expect(envelope.metadata).toMatchObject({ truncated: true, total: 1_001 })
  const { head } = (envelope as { data: { head: string } }).data
  expect(head.match(/^f\d+$/gm)).toHaveLength(1_000)
  expect(head).toContain('1000 of 1001 file(s) shown: the list is cut.')
  const whole = await space.runtime.files?.readText(envelope.metadata.output_path ?? '')
  expect(whole?.split('\n')).toHaveLength(1_001)
})

it('reports clearly when the list is not complete', async () => {
  const search = {
    grep: async () => ({ lines: [], files: [], matches: 0, fileCount: 0, truncated: false }),
    glob: async () => ({ paths: ['a'], total: 1, truncated: true, incomplete: 'Stopped.' }),
  }
  expect(await globTool.call({ pattern: '*' }, { runtime: { search } })).toBe(
    'a\n\n1 of at least 1 file(s) shown\nIncomplete: Stopped.',
  )
  expect(await globTool.execute({ pattern: '*' }, {})).toMatchObject({
    type: 'error',
    error_text: expect.stringContaining('runtime.search'),
  })
})

it('respects .gitignore, lists hidden files, follows no link and accepts any name', async () => {
  const space = await toolboxWorkspace({
    '.gitignore': '*.log',
    'a.log': '',
    '.h/x': '',
    '-rf': '',
    'o\'k "q"': '',
    'a\nb': '',
    'ü😀': '',
  })
  symlinkSync('.', join(space.root, 'loop'))
  expect(await glob(space, { pattern: '**' })).toBe(
    '-rf\n.gitignore\n.h/x\n"a\\nb"\n"o\'k \\"q\\""\nü😀\n\n6 of 6 file(s) shown',
  )
  expect(await glob(space, { pattern: '-rf' })).toContain('1 of 1')
  expect(await glob(space, { pattern: '*', path: '../' })).toContain('outside the workspace')
})

describe('compared with ripgrep', () => {
  const part = fc.constantFrom('a', 'b', 'ab', 'src', '.dot', 'c d', 'é', '-x', 'B')
  const fileName = fc.constantFrom(
    'a',
    'a.ts',
    'b.tsx',
    '.env',
    'x y.ts',
    '-d.js',
    'é.ts',
    'A.TS',
    'a[1]',
    '{b}',
  )
  const path = fc
    .tuple(fc.array(part, { maxLength: 3 }), fileName)
    .map(([parts, name]) => [...parts, name].join('/'))
  const piece = fc.constantFrom(
    ...[
      '*',
      '**',
      '?',
      'a',
      'b',
      'src',
      '.',
      '.ts',
      '*.ts',
      '*.{ts,tsx}',
      '[ab]',
      '[!a]',
      '{a,b}',
      'é',
      '-',
      '\\[',
    ],
  )
  const pattern = fc
    .tuple(
      fc.constantFrom('', '', '', '/', '**/'),
      fc.array(fc.array(piece, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 }),
    )
    .map(([start, segments]) => start + segments.map((pieces) => pieces.join('')).join('/'))
    // Ours take `./a` for `a`, where ripgrep finds nothing; `..` is refused.
    .filter((text) => text.split('/').every((segment) => !/^\.\.?$/.test(segment)))
    // Git and ours take three stars for two, ripgrep for one.
    .filter((text) => !text.includes('***'))

  it('finds the same files', async () => {
    const place = temporaryDirectory()
    let trees = 0
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(path, { minLength: 3, maxLength: 15 }),
        fc.array(pattern, { minLength: 4, maxLength: 4 }),
        async (paths, patterns) => {
          const root = join(place, String(trees++))
          mkdirSync(root)
          for (const each of paths) write(root, each)
          const runtime = { search: createLocalSearch({ root, permit: () => undefined }) }
          for (const wanted of patterns) {
            // One character there is one byte.
            if (/\?|\[!/.test(wanted) && paths.some((each) => /\P{ASCII}/u.test(each))) continue
            const theirs = listed(root, wanted)
            const envelope = await globTool.execute({ pattern: wanted }, { runtime })
            // What ripgrep cannot read we may not either.
            if (theirs === undefined) continue
            const text = envelope.type === 'output' ? String(envelope.data) : envelope.error_text
            const ours = text.includes(' file(s) shown') ? (text.split('\n\n')[0] ?? '').split('\n') : []
            expect({ wanted, files: ours }).toEqual({ wanted, files: theirs })
          }
        },
      ),
      { numRuns: propertyRuns(25) },
    )
  })

  function write(root: string, path: string): void {
    try {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), '')
    } catch {
      // The name is taken by a file or a directory: the tree is as good without it.
      return
    }
  }

  function listed(root: string, wanted: string): string[] | undefined {
    try {
      const args = ['--no-config', '--files', '--hidden', '--no-ignore', `--glob=${wanted}`, './']
      const output = execFileSync(rgPath, args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      return output
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [line.replace('./', '')]))
        .sort()
    } catch (error) {
      // 1: nothing found; 2: no glob.
      return (error as { status: number }).status === 1 ? [] : undefined
    }
  }
})

it('has a complete definition', () => {
  expect(globTool).toMatchObject({ kind: 'search', idempotent: true, limits: { maxItems: 1_000 } })
  expect(globTool.touches({ pattern: '*', path: 'src' })).toEqual([{ fs: 'read', path: 'src' }])
})
