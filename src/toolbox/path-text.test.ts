import { describe, expect, it } from 'vitest'
import { pathText } from './path-text.js'

describe('pathText', () => {
  it.each([
    ['src/a b.ts', 'src/a b.ts'],
    ['grüße/日本.txt', 'grüße/日本.txt'],
    ['two\nlines', '"two\\nlines"'],
    ['say "hi"', '"say \\"hi\\""'],
    [' edge', '" edge"'],
    ['', '""'],
    [`${'x'.repeat(300)}\u202Egpj.exe`, `"${'x'.repeat(300)}\\u202egpj.exe"`],
    ['ä'.repeat(40), 'ä'.repeat(40)],
    [`${'ä'.repeat(40)}\u202E`, `"${'ä'.repeat(40)}\\u202e"`],
    ['\u{1F600}'.repeat(60), '\u{1F600}'.repeat(60)],
    [`a/${'y'.repeat(400)}`, `a/${'y'.repeat(400)}`],
  ])('shows %j', (path, shown) => {
    expect(pathText(path)).toBe(shown)
  })
})
