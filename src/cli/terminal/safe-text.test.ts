import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import { plainOutput, safeJson, safeLine, safeText } from './safe-text.js'

const obeyed =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/

describe('text for a terminal (SEC-195)', () => {
  it.each([
    ['clears the screen', '\x1b[2Jgone', '\\x1b[2Jgone'],
    ['sets the title', '\x1b]0;root\x07', '\\x1b]0;root\\x07'],
    ['writes the clipboard', '\x1b]52;c;cm0gLXJm\x1b\\', '\\x1b]52;c;cm0gLXJm\\x1b\\'],
    ['links elsewhere', '\x1b]8;;http://evil\x1b\\here', '\\x1b]8;;http://evil\\x1b\\here'],
    ['asks the terminal', '\x1b[21t\x1bP$qm', '\\x1b[21t\\x1bP$qm'],
    ['8-bit controls', '\x9b2J\x90', '\\x9b2J\\x90'],
    ['overwrites a line', 'rm -rf /\recho hi', 'rm -rf /\\recho hi'],
    ['takes letters back', 'evil\b\b\b\bgood', 'evil\\x08\\x08\\x08\\x08good'],
    ['turns the direction', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
    ['hides letters', 'a\u200bb\ufeffc\u{e0041}', 'a\\u200bb\\ufeffc\\u{e0041}'],
    ['half a letter', 'a\ud800b', 'a\\ud800b'],
  ])('is escaped where it %s', (_, given, shown) => {
    expect(safeText(given)).toBe(shown)
  })

  it('does not change what people usually write', () => {
    const text = 'Grüße\n\tto 世界 👩‍👩‍👧 and नमस्ते\n'
    expect(safeText(text)).toBe(text)
    expect(safeText('a\r\nb')).toBe('a\nb')
  })

  it('never contains a control sequence, and does not change when it is made safe twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (text) => {
        const safe = safeText(text)
        return !obeyed.test(safe) && safeText(safe) === safe && !obeyed.test(plainOutput(text))
      }),
    )
  })

  it('has no colours of programs, and keeps the coloured text', () => {
    expect(plainOutput('\x1b[1;32mok\x1b[0m \x1b[8mhidden\x1b[28m \x1b[2K')).toBe('ok hidden \\x1b[2K')
  })

  it('fits on one line, cut between characters', () => {
    expect(safeLine('  a\n\n b\x1b ')).toBe('a b\\x1b')
    expect(safeLine('👍👍👍👍', 3)).toBe('👍👍…')
  })
})

describe('JSON for a pipe or a terminal', () => {
  it('is the same JSON without control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 60 }), (text) => {
        const json = safeJson({ text })
        expect(JSON.parse(json)).toEqual({ text })
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
        expect(json).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e]/)
      }),
    )
  })
})
