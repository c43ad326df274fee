import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lineStat } from './line-stat.js'

describe('lineStat', () => {
  it.each([
    ['', '', 0, 0],
    ['', 'a\nb\n', 2, 0],
    ['a\nb', '', 0, 2],
    ['a\nb\nc\n', 'a\nx\ny\nc\n', 2, 1],
    ['a\nb\nc\n', 'c\na\nb\n', 1, 1],
  ])('counts the changed lines from %j to %j', (before, after, added, removed) => {
    expect(lineStat(before, after)).toEqual({ added, removed })
  })

  it('adds up, and is zero only for equal lines', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        const { added, removed } = lineStat(a.join('\n'), b.join('\n'))
        expect(added - removed).toBe(b.length - a.length)
        expect(added === 0 && removed === 0).toBe(a.join('\n') === b.join('\n'))
      }),
    )
  })

  it('is fast for two large texts that share little', () => {
    const text = (word: string): string =>
      Array.from({ length: 20_000 }, (_, at) => `${word} ${at % 9_000}`).join('\n')
    const { added, removed } = lineStat(text('a'), `${text('b')}\na 1`)
    expect({ added, removed }).toEqual({ added: 20_000, removed: 19_999 })
  })
})
