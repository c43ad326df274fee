import { expect, it } from 'vitest'
import { shownPath } from './shown-path.js'

it.each([
  ['src/a b.ts', '"src/a b.ts"'],
  ['café/日本/ไทยเก้า', '"café/日本/ไทยเก้า"'],
  ['cafe\u0301', '"cafe\\u0301"'],
  ['\u202egnp.exe', '"\\u202egnp.exe"'],
  ['a\uff0fb', '"a\\uff0fb"'],
  ['a\nb\t"c"\\', '"a\\nb\\t\\"c\\"\\\\"'],
  ['a\0\x1b[31m', '"a\\u0000\\u001b[31m"'],
  ['a\u00a0b\u200b', '"a\\u00a0b\\u200b"'],
  ['\u{e0061}', '"\\u{e0061}"'],
  ['x'.repeat(9999), `"${'x'.repeat(240)}..."`],
])('shows %j with nothing hidden', (path, shown) => {
  expect(shownPath(path)).toBe(shown)
})
