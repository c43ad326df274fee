import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.js'
import { visibleLine, visibleText } from './untrusted-text.js'

describe('visibleText', () => {
  it.each([
    ['plain\n\ttext', 'plain\n\ttext'],
    ['a\r\nb\rc', 'a\nb\nc'],
    ['\u001b[2J\u001b]0;title\u0007x', '[2J]0;titlex'],
    ['a\u200bb\u2060c\ufeffd', 'abcd'],
    ['a\u202edcb', 'adcb'],
    ['hi\u{e0048}\u{e0049}', 'hi'],
    ['a\u200d\u200cb', 'ab'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
    ['👩\u200d💻', '👩\u200d💻'],
    ['❤\ufe0f', '❤\ufe0f'],
    ['x\ufe01\ufe02\ufe03', 'x\ufe01'],
    ['lone \ud800 end', 'lone \ufffd end'],
  ])('SEC-167, SEC-195: %j becomes %j', (given, seen) => {
    expect(visibleText(given)).toBe(seen)
  })

  it('does not change visible text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\p{L}\p{N}\p{P}\p{Zs}\n\t]*$/u), (text) => {
        expect(visibleText(text)).toBe(text)
      }),
    )
  })

  it('does not change its own output', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const seen = visibleText(text)
        expect(visibleText(seen)).toBe(seen)
      }),
    )
  })
})

describe('visibleLine', () => {
  it('returns one line of the given maximum length', () => {
    expect(visibleLine(' a\n\n b ', 10)).toBe('a b')
    expect(visibleLine('abcdef', 4)).toBe('abc…')
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        const line = visibleLine(text, 20)
        expect(line.length).toBeLessThanOrEqual(20)
        expect(line).not.toMatch(/[\n\p{Cc}\p{Cs}]/u)
      }),
    )
  })
})
