import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutTo, lettersOf, widthOf } from './width.js'
import { wrapRow, wrapText } from './wrap.js'

describe('the width of text', () => {
  it.each([
    ['abc', 3],
    ['', 0],
    ['世界', 4],
    ['é', 1],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['⚠️', 2],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
    ['\u001b[1mbold\u001b[22m', 4],
  ])('of %j is %i', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it('is never exceeded when text is cut', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 30 }),
        fc.integer({ min: 1, max: 20 }),
        (text, columns) => {
          expect(widthOf(cutTo(text, columns))).toBeLessThanOrEqual(columns)
        },
      ),
    )
    expect(cutTo('世界世界', 5)).toBe('世界…')
  })
})

describe('wrapped text', () => {
  it('is broken at spaces, and inside words only when they are longer than a line', () => {
    expect(wrapText('one two three four', 9)).toEqual(['one two', 'three', 'four'])
    expect(wrapText('abcdefghijkl mn', 8)).toEqual(['abcdefgh', 'ijkl mn'])
    expect(wrapText('- a point that is long', 12, '  ')).toEqual(['- a point', '  that is', '  long'])
    expect(wrapText('a\n\nb', 10)).toEqual(['a', '', 'b'])
  })

  it('counts wide characters twice, and styles not at all', () => {
    expect(wrapText('世界世界世界', 8)).toEqual(['世界世界', '世界'])
    expect(wrapText('\u001b[1mone two\u001b[22m three', 9)).toEqual(['\u001b[1mone two\u001b[22m', 'three'])
  })

  it('keeps the second column of a list if there is room, and otherwise puts it below', () => {
    expect(wrapRow('  /quit  Leave at once, please', 20)).toEqual([
      '  /quit  Leave at',
      '         once,',
      '         please',
    ])
    expect(wrapRow('  /resume [id]  Open this one', 20)).toEqual(['  /resume [id]', '      Open this one'])
    expect(wrapRow('Two  blanks are no list of anything', 20)).toEqual([
      'Two  blanks are no',
      '    list of anything',
    ])
  })

  it('is never wider than the limit, and loses only spaces', () => {
    const words = fc.array(
      fc.string({ unit: fc.constantFrom('a', '世', 'é', '👍', '-'), minLength: 1, maxLength: 14 }),
    )
    fc.assert(
      fc.property(words, fc.integer({ min: 8, max: 24 }), (given, columns) => {
        const lines = wrapText(given.join(' '), columns)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        expect(lettersOf(lines.join('').replaceAll(' ', ''))).toEqual(lettersOf(given.join('')))
      }),
    )
  })
})
