import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { createGrepCollector } from './grep-collector.js'
import { createGrepReader } from './grep-output.js'

function read(output: Buffer, cuts: readonly number[], mode: 'lines' | 'counts' = 'lines') {
  const collector = createGrepCollector(
    { limit: 1_000, mode: mode === 'lines' ? 'content' : 'count' },
    (path) => path !== 'denied',
  )
  const reader = createGrepReader(collector, mode, (path) => path.slice(2))
  let from = 0
  for (const cut of [...cuts, output.length]
    .map((each) => Math.min(each, output.length))
    .toSorted((a, b) => a - b)) {
    if (cut > from) reader(output.subarray(from, cut))
    from = Math.max(from, cut)
  }
  return collector.outcome(undefined)
}

const output = Buffer.from(
  [
    './a\x001\x003\x00one',
    './a\x002-between',
    './a\x003\x0012:34', // no column: an empty match at the end of the file
    './bin\x001\x001\x00text before the first NUL',
    './bin: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)',
    './denied\x007\x001\x00secret',
    './new\nline\x001\x001\x00 x:y-z',
    `./long\x001\x001\x00${'l'.repeat(100_000)}`,
    './long\x002\x001\x00after',
    './b\x001\x001\x00',
    '',
  ].join('\n'),
)

describe('createGrepReader', () => {
  it('reads matches, context and notes', () => {
    const outcome = read(output, [])
    expect(
      outcome.lines.map(({ path, line, match, text }) => [path, line, match, text.slice(0, 30)]),
    ).toEqual([
      ['a', 1, true, 'one'],
      ['a', 2, false, 'between'],
      ['a', 3, true, '12:34'],
      ['b', 1, true, ''],
      ['long', 1, true, 'l'.repeat(30)],
      ['long', 2, true, 'after'],
      ['new\nline', 1, true, ' x:y-z'],
    ])
    expect(outcome.matches).toBe(6)
    expect(JSON.stringify(outcome)).not.toContain('secret')
  })

  it('reads the same for any split of the output', () => {
    const whole = read(output, [])
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(250), fc.nat(output.length)), { maxLength: 12 }), (cuts) => {
        expect(read(output, cuts)).toEqual(whole)
      }),
      { numRuns: propertyRuns(300) },
    )
    expect(
      read(
        output,
        Array.from({ length: 260 }, (_, index) => index),
      ),
    ).toEqual(whole)
  })

  it('reads counts', () => {
    const counts = Buffer.from('./a\x0012\n./denied\x003\n./b\x001\n')
    expect(read(counts, [3, 5])).toMatchObject({ matches: 0 })
    expect(read(counts, [3, 5], 'counts')).toMatchObject({
      files: [
        { path: 'a', count: 12 },
        { path: 'b', count: 1 },
      ],
      matches: 13,
    })
  })
})
