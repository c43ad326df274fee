import { describe, expect, it } from 'vitest'
import { entries } from './package-entries.js'
import {
  areaOf,
  longComments,
  readAreas,
  readText,
  undocumentedNames,
  wordProblems,
} from './plain-english.js'

/**
 * Areas that still have avoided words or public names without a doc comment. Remove an area as soon as it is clean: the
 * test fails while a clean area is listed. To see what an area still has: `PLAIN=src/loop npx vitest run
 * test/house/plain-english.test.ts`.
 */
const pending: readonly string[] = []

const areas = readAreas()
const sourceEntries = entries.map(({ types }) => types.replace(/^dist/, 'src').replace(/\.d\.ts$/, '.ts'))
const undocumented = undocumentedNames(sourceEntries)

describe('plain English', () => {
  it.each([...areas.keys()].filter((area) => !pending.includes(area)))(
    '%s has no avoided word, and a doc comment on every public name',
    (area) => {
      expect(problemsOf(area)).toEqual([])
    },
  )

  it('lists as pending only areas that exist and still have problems', () => {
    expect(pending.filter((area) => problemsOf(area).length === 0)).toEqual([])
  })

  it.runIf(process.env['PLAIN'] !== undefined)('prints the problems of an area', () => {
    console.log(problemsOf(process.env['PLAIN'] ?? '').join('\n'))
  })

  it('has no comment line over 120 columns', () => {
    const long = [...areas.values()]
      .flat()
      .filter((path) => /^(src|test)\/.*\.ts$/.test(path))
      .flatMap((path) => longComments(path, readText(path)))
    expect(long).toEqual([])
  })
})

describe('the check of words', () => {
  it.each([
    ['// Whoever calls it is told.', ['Whoever', 'told']],
    ['const toldOnce = true', ['told']],
    ['const was_told = true', ['told']],
    ['it goes on behind the last one', ['goes on', 'behind']],
    ['const mostRounds = 3', ['mostRounds']],
    ['// a line that is no header, what became of it', ['what became of', 'that is no header']],
    ['// what is no longer there, and is passed over', ['is passed over']],
    ['// it is let go of, and holds up no other', ['let go of', 'holds up']],
    ['const isHeldUp = true // forever', ['Held Up']],
    ["user: 'nobody'", []],
    ['// leaves nothing behind', []],
    ['// works behind a reverse proxy', []],
    ['// understands outstanding work, at most once', []],
  ])('finds in %s: %j', (line, words) => {
    const found = wordProblems('src/a.ts', line).map((each) => /"(.+)"/.exec(each)?.[1])
    expect(found).toEqual(words)
  })

  it('names the file and the line, and reads the path too', () => {
    expect(wordProblems('src/told.ts', 'one\nanew')).toEqual([
      'src/told.ts: "told": write report, print, emit, say',
      'src/told.ts:2: "anew": write again',
    ])
  })
})

describe('the check of comment lines', () => {
  it('counts comments, not code', () => {
    const long = 'word '.repeat(30)
    expect(longComments('a.ts', `// ${long}\n * ${long}\nconst a = "${long}"`)).toHaveLength(2)
  })
})

function problemsOf(area: string): string[] {
  const files = areas.get(area) ?? []
  return [
    ...files.flatMap((path) => wordProblems(path, readText(path))),
    ...undocumented.filter((problem) => areaOf(problem.split(':')[0] ?? '') === area),
  ]
}
