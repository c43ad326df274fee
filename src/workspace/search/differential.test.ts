import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import type { GlobOutcome, GrepOutcome, RuntimeSearch } from '../../tool/runtime.js'
import { SearchError } from './errors.js'
import { createFallbackSearch } from './fallback-search.js'
import { createLocalSearch } from './local-search.js'

// A failure prints its seed and path: put them into `fc.assert`'s parameters to see it again.
const place = sharedDirectory()

const directory = fc.array(fc.constantFrom('a', 'b', 'build', '.dot', 'c d'), { maxLength: 3 })
const fileName = fc.constantFrom('a', 'b.ts', 'c.log', '.env', 'x y.ts', 'build', '-d', 'é.ts', 'B.TS')
const path = fc.tuple(directory, fileName).map(([parts, name]) => [...parts, name].join('/'))
const char = fc.constantFrom(...'aabbABk1 -._é]}\t😀Kſ٣\u0301', '\u2028', '\u0085', '\u00a0', '\uFEFF')
const line = fc.array(char, { maxLength: 12 }).map((chars) => chars.join(''))
const content = fc
  .tuple(
    fc.array(line, { minLength: 1, maxLength: 6 }),
    fc.constantFrom('\n', '\r\n', '\r', '\n\n'),
    fc.boolean(),
  )
  .map(([lines, end, last]) => lines.join(end) + (last ? end : ''))
const ignoreLine = fc.constantFrom(
  ...[
    '*.log',
    'build',
    'build/',
    '/a',
    'a/',
    '!c.log',
    '!build',
    '*.ts',
    '!b.ts',
    '**/b',
    'a/**',
    'a/*',
    '!a/b',
  ],
  ...[
    '# x',
    '',
    'b/b.ts',
    '/**/a',
    '[a-c]',
    '[!a]',
    '*.{ts,log}',
    '\\#',
    'c d',
    ' ',
    'x y.ts ',
    'é*',
    '?',
    'a/**/b',
  ],
)
const tree = fc.record({
  files: fc.dictionary(path, content, { minKeys: 4, maxKeys: 14 }),
  ignores: fc.dictionary(
    directory.map((parts) => [...parts, '.gitignore'].join('/')),
    fc.array(ignoreLine, { maxLength: 4 }).map((lines) => lines.join('\n')),
    { maxKeys: 3 },
  ),
  repositories: fc.array(directory, { maxLength: 1 }),
})
const glob = fc.constantFrom(
  ...[
    '*.ts',
    '*',
    '**',
    'a/**',
    '**/b/*',
    '/a',
    'build',
    'build/',
    '*.{ts,log}',
    '[ab]*',
    '!*.ts',
    '.*',
    'c d/*',
    '?',
  ],
  ...['a/**/*.ts', 'é.ts', '-d', '*.TS'],
)
const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    'ab',
    'é',
    'k',
    '.',
    '\\d',
    '\\w',
    '\\s',
    '\\D',
    '\\W',
    '\\S',
    '\\b',
    '\\B',
    '[ab]',
    '[^a]',
    '^',
    '$',
  ],
  ...[
    '[[:alpha:]]',
    '[[:^punct:]]',
    '[a-c-]',
    '[]a]',
    '(a|b)',
    '(?:ab)',
    '(?P<n>a)',
    '\\.',
    '\\-',
    '\\x61',
    '\\u{e9}',
  ],
  ...[
    '\\p{L}',
    '\\pN',
    '\\PL',
    '\\p{Greek}',
    '|',
    ']',
    '}',
    '[\\s\\S]',
    '[\\w-]',
    '[^\\w]',
    '😀',
    'K',
    ' ',
    '\\t',
    '(',
    ')',
  ],
)
const regex = fc
  .tuple(
    fc.constantFrom('', '', '', '(?i)'),
    fc.array(fc.tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,}', '*?')), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([flags, atoms]) => flags + atoms.flat().join(''))

const nothing = Array.from({ length: 12 }, () => undefined)

let trees = 0
async function onTree<T>(
  shape: TreeShape,
  use: (searches: readonly RuntimeSearch[]) => Promise<T>,
): Promise<T> {
  trees += 1
  const root = join(place, String(trees))
  mkdirSync(root)
  const write = (name: string, text: string, time: number) => {
    try {
      mkdirSync(dirname(join(root, name)), { recursive: true })
      writeFileSync(join(root, name), text)
      utimesSync(join(root, name), time, time)
    } catch {
      // The same name was already taken by a file or a directory: the tree is as good without it.
      return
    }
  }
  for (const [index, [name, text]] of Object.entries(shape.files).entries())
    write(name, text, 1_000 + (index % 5))
  for (const [name, text] of Object.entries(shape.ignores)) write(name, text, 900)
  for (const parts of shape.repositories) write([...parts, '.git', 'HEAD'].join('/'), 'aabb\n', 800)
  try {
    const permit = (real: string) => (real.endsWith('.env') ? 'denied' : undefined)
    return await use([
      createLocalSearch({ root, permit, threads: 2 }),
      createFallbackSearch({ root, permit, deadlineMs: 10_000 }),
    ])
  } finally {
    rmSync(root, { recursive: true })
  }
}
type TreeShape = {
  readonly files: Record<string, string>
  readonly ignores: Record<string, string>
  readonly repositories: readonly string[][]
}

async function settled<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work
  } catch (thrown) {
    if (thrown instanceof SearchError) return thrown.code
    throw thrown
  }
}

describe('ripgrep and the fallback return the same', () => {
  it('for glob', async () => {
    const requests = fc.record({
      pattern: glob,
      path: fc.constantFrom(...nothing, 'a', 'b', 'a/b', '.dot', 'build'),
      order: fc.constantFrom('name' as const, 'newest' as const),
      limit: fc.constantFrom(1, 3, 100),
    })
    await fc.assert(
      fc.asyncProperty(tree, requests, ({ ...shape }, { path: at, ...request }) =>
        onTree(shape, async (searches) => {
          const asked = at === undefined ? request : { ...request, path: at }
          const [one, other] = await Promise.all(
            searches.map((search) => settled<GlobOutcome>(search.glob(asked))),
          )
          expect(other).toEqual(one)
        }),
      ),
      { numRuns: propertyRuns(120) },
    )
  })

  it('for grep', async () => {
    const requests = fc.record({
      pattern: regex,
      path: fc.constantFrom(...nothing, 'a', 'b', 'a/b', 'b.ts', 'build'),
      glob: fc.oneof(fc.constantFrom(...nothing), glob),
      ignoreCase: fc.boolean(),
      before: fc.constantFrom(0, 0, 1, 2),
      after: fc.constantFrom(0, 0, 1, 2),
      mode: fc.constantFrom('content' as const, 'content' as const, 'files' as const, 'count' as const),
      limit: fc.constantFrom(1, 3, 100),
    })
    await fc.assert(
      fc.asyncProperty(tree, requests, (shape, { path: at, glob: only, ...request }) =>
        onTree(shape, async (searches) => {
          const asked = {
            ...request,
            ...(at === undefined ? {} : { path: at }),
            ...(only === undefined ? {} : { glob: only }),
          }
          const [one, other] = await Promise.all(
            searches.map((search) => settled<GrepOutcome>(search.grep(asked))),
          )
          // The fallback may refuse a pattern that ripgrep reads, never the other way round.
          if (other !== 'search_pattern_invalid') expect(other).toEqual(one)
        }),
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})
