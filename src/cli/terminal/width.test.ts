import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { cutTo, lettersOf, widthOf, widthOfLetter } from './width.js'

describe('the width of a text', () => {
  it.each([
    ['plain', 5],
    ['\u001b[1mbold\u001b[0m', 4],
    ['e\u0301', 1],
    ['漢字', 4],
    ['👩‍👩‍👧', 2],
  ])('of %j is %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it('is the sum of the widths of its characters', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'é', 'ÿ', '…', '·', '“', '→', '\u00ad', '\u0301', '\u200d', '漢', '👩'),
    })
    fc.assert(
      fc.property(text, (each) => {
        expect(widthOf(each)).toBe(lettersOf(each).reduce((sum, letter) => sum + widthOfLetter(letter), 0))
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })

  it('is within the limit after the text is cut', () => {
    expect(cutTo('a long line', 6)).toBe('a lon…')
    expect(cutTo('漢字漢字', 6)).toBe('漢字…')
  })
})

describe('the characters of a text', () => {
  it('are its graphemes, also in ASCII text', () => {
    expect(lettersOf('a b~')).toEqual(['a', ' ', 'b', '~'])
    expect(lettersOf('e\u0301x')).toEqual(['e\u0301', 'x'])
    expect(lettersOf('a\r\nb')).toEqual(['a', '\r\n', 'b'])
    expect(lettersOf('👩‍👩‍👧!')).toEqual(['👩‍👩‍👧', '!'])
    expect(lettersOf('')).toEqual([])
  })

  it('are those of Intl.Segmenter, whatever is next to ASCII text', () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
    const mixed = fc.string({
      unit: fc.constantFrom('a', '1', ' ', '\u0301', '\u0600', '⠋', '👩', '\u200d', '\r', '\n'),
    })
    fc.assert(
      fc.property(mixed, (text) => {
        expect(lettersOf(text)).toEqual(Array.from(segmenter.segment(text), ({ segment }) => segment))
      }),
      { numRuns: propertyRuns(2_000) },
    )
  })
})
