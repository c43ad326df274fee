import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { createWordFinder, type Span } from './word-finder.js'

/** The same by looking for every word at every place. */
function coveredBy(words: readonly string[], text: string): boolean[] {
  const covered = Array.from({ length: text.length }, () => false)
  for (const word of words)
    for (let at = text.indexOf(word); word !== '' && at >= 0; at = text.indexOf(word, at + 1))
      covered.fill(true, at, at + word.length)
  return covered
}

function coveredIn(spans: readonly Span[], length: number): boolean[] {
  const covered = Array.from({ length }, () => false)
  for (const { start, end } of spans) covered.fill(true, start, end)
  return covered
}

const piece = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 5 }).map((chars) => chars.join(''))

describe('a word finder', () => {
  it('covers exactly what a search for each word covers', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), fc.array(piece, { maxLength: 8 }), (words, parts) => {
        const text = parts.join('')
        const spans = createWordFinder(words).cover(text)
        expect(coveredIn(spans, text.length)).toEqual(coveredBy(words, text))
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })

  it('returns spans in order, without overlaps', () => {
    const { cover } = createWordFinder(['abc', 'bcd', 'x'])
    expect(cover('abcd-x-abc')).toEqual([
      { start: 0, end: 4 },
      { start: 5, end: 6 },
      { start: 7, end: 10 },
    ])
  })

  it('finds the longest word that ends at a character, across pieces, and says what can still become one', () => {
    const walk = createWordFinder(['he', 'she', 'hers']).walk()
    const steps = [...'ushers'].map((char) => [walk.step(char.charCodeAt(0)), walk.pending()])
    expect(steps).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [3, 3],
      [0, 3],
      [4, 4],
    ])
  })

  it('finds nothing when there are no words, or only an empty one', () => {
    for (const words of [[], ['']]) expect(createWordFinder(words).cover('anything')).toEqual([])
  })
})
