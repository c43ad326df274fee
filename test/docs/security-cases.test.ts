import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isTest, listFiles } from '../house/source-tree.js'
import { foundBreaks } from '../security/catalogue/found-breaks.js'
import type { SecurityCase } from '../security/catalogue/security-case.js'
import { securityCases } from '../security/catalogue/security-cases.js'

const path = 'docs/design/security-cases.md'

/** The tests that name each number. */
const naming = new Map<number, string[]>()
for (const file of ['src', 'test'].flatMap((folder) => listFiles(folder, /\.ts$/)))
  if (isTest(file) && !file.includes('security-cases'))
    for (const number of new Set(
      Array.from(readFileSync(file, 'utf8').matchAll(/\bSEC-(\d{3})\b/g), ([, found]) => Number(found)),
    ))
      naming.set(number, [...(naming.get(number) ?? []), file])

/** What `capstan doctor --prove` tries, from its source. */
const attempts = new Set(
  ['doctor-trap.ts', 'doctor-outlive.ts'].flatMap((name) =>
    Array.from(
      readFileSync(`src/workspace/sandbox/${name}`, 'utf8').matchAll(
        /(?:check|withPerl)\(\s*'([^']+)'|const check = '([^']+)'/g,
      ),
      ([, inList, alone]) => inList ?? alone ?? '',
    ),
  ),
)

function triedBy({ number, test, attempts: tried = [], notApplicable }: SecurityCase): string {
  const files = [...(naming.get(number) ?? []), ...(test === undefined ? [] : [test[0]])]
  return [
    ...tried.map((attempt) => `*${attempt}*`),
    ...files.toSorted().map((file) => `\`${file}\``),
    ...(notApplicable === undefined ? [] : [`not applicable: ${notApplicable}`]),
  ].join(', ')
}

/** Whether the file has a test whose name has these words. */
function hasTest([file, words]: readonly [string, string]): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').includes(words)
}

describe('the catalogue of attacks', () => {
  it('has every number once, in order', () => {
    const numbers = securityCases.map(({ number }) => number)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    expect(numbers).toHaveLength(217)
  })

  it('has every number that a test names', () => {
    const known = new Set(securityCases.map(({ number }) => number))
    expect([...naming.keys()].filter((number) => !known.has(number))).toEqual([])
  })

  it('says for each case which test tries it, or why none can', () => {
    expect(securityCases.filter((one) => triedBy(one) === '').map(({ number }) => number)).toEqual([])
  })

  it('names tests and attempts that exist', () => {
    const entries = [
      ...securityCases.map((one) => ({ name: `SEC-${one.number}`, ...one })),
      ...foundBreaks.map((one) => ({ name: one.found, ...one })),
    ]
    const wrong = entries.filter(
      ({ test, attempts: tried = [] }) =>
        (test !== undefined && !hasTest(test)) || tried.some((attempt) => !attempts.has(attempt)),
    )
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('says for each fixed vulnerability which test tries it now', () => {
    expect(
      foundBreaks.filter(({ test, attempts: tried }) => test === undefined && tried === undefined),
    ).toEqual([])
  })

  it('is on its page (UPDATE_DOCS=1 writes it)', () => {
    const number = (value: number): string => `SEC-${String(value).padStart(3, '0')}`
    const made = [
      '# Attacks and what tries them',
      '',
      'Numbered attacks that affected comparable systems. Names in *italics* are attempts of `capstan doctor --prove`, which can be repeated on any machine. The other names are tests of the',
      'repository. W is the workspace, C a file next to it. A test checks that this page is complete.',
      '',
      '| case | attack | tried by |',
      '|---|---|---|',
      ...securityCases.map((one) => `| ${number(one.number)} | ${one.attack} | ${triedBy(one)} |`),
      '',
      '## Found in this sandbox',
      '',
      'Every escape that a review or a test has found, and the attempt or test that tries it now:',
      '',
      '| found | tried by |',
      '|---|---|',
      ...foundBreaks.map((one) => `| ${one.found} | ${triedBy({ number: 0, attack: '', ...one })} |`),
      '',
    ].join('\n')
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, made)
    const rowsOf = (text: string): string[][] =>
      text
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    const page = rowsOf(readFileSync(path, 'utf8'))
    // A test that names a number of the catalogue need not be added by hand: what is there must be true.
    const withoutTests = (rows: string[][]): string[] => rows.map((row) => row.slice(0, -2).join(' | '))
    expect(withoutTests(page)).toEqual(withoutTests(rowsOf(made)))
    const named = page.flatMap((row) =>
      Array.from((row.at(-2) ?? '').matchAll(/`((?:src|test)\/[^`]+)`/g), ([, file = '']) => file),
    )
    expect(named.length).toBeGreaterThan(200)
    expect(named.filter((file) => !existsSync(file))).toEqual([])
  })
})
