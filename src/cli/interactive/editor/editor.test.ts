import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../../test/support/property-runs.js'
import { widthOf } from '../../terminal/width.js'
import type { Key } from '../screen/keys.js'
import { Editor } from './editor.js'

const text = (written: string): Key => ({ kind: 'text', text: written })
function key(name: string, more: Partial<Key & { kind: 'key' }> = {}): Key {
  return { kind: 'key', name, ctrl: false, meta: false, shift: false, ...more }
}
const ctrl = (name: string): Key => key(name, { ctrl: true })
const alt = (name: string): Key => key(name, { meta: true })

function written(keys: readonly (Key | string)[], editor = new Editor()): string {
  for (const each of keys)
    for (const one of typeof each === 'string' ? Array.from(each, text) : [each]) editor.key(one)
  return editor.text
}

describe('the editor', () => {
  it.each<[string, (Key | string)[], string]>([
    ['letters as people see them', ['e\u0301👩‍🚀x', key('left'), key('backspace')], 'e\u0301x'],
    ['letters before the cursor', ['ship', key('left'), key('left'), 'o'], 'shoip'],
    ['beginning and end', ['b', ctrl('a'), 'a', ctrl('e'), 'c'], 'abc'],
    ['words', ['one two three', alt('b'), ctrl('w')], 'one three'],
    ['what was cut comes back', ['one two', ctrl('u'), 'x ', ctrl('y')], 'x one two'],
    ['the rest of a line', ['one', key('home'), ctrl('k'), 'x'], 'x'],
    [
      'lines: up keeps the column',
      ['abc', ctrl('j'), 'defg', key('up'), 'X'],
      'abc\nXdefg'.replace('abc\nXdefg', 'abcX\ndefg'),
    ],
    ['a backslash and Enter', ['one\\', key('return'), 'two'], 'one\ntwo'],
    ['Alt and Enter', ['one', alt('return'), 'two'], 'one\ntwo'],
    ['delete', ['abc', key('home'), key('delete')], 'bc'],
  ])('supports %s', (_, keys, expected) => {
    // Ctrl-J is a separate key event.
    expect(
      written(
        keys.map((each) =>
          typeof each === 'object' && each.kind === 'key' && each.ctrl && each.name === 'j'
            ? key('enter')
            : each,
        ),
      ),
    ).toBe(expected)
  })

  it('returns the sent text, and is then empty', () => {
    const editor = new Editor()
    written(['hello'], editor)
    expect(editor.key(key('return'))).toBe('hello')
    expect(editor.text).toBe('')
  })

  it('moves through the history, and restores the current text', () => {
    const editor = new Editor({ entries: () => ['first', 'second'] })
    written(['draft', key('up')], editor)
    expect(editor.text).toBe('second')
    written([key('up'), key('up')], editor)
    expect(editor.text).toBe('first')
    written([key('down'), key('down'), key('down')], editor)
    expect(editor.text).toBe('draft')
  })

  it('completes the common prefix, then the first candidate', () => {
    const complete = (typed: string) =>
      ['/mode', '/model', '/new'].filter((value) => value.startsWith(typed)).map((value) => ({ value }))
    expect(written(['/m', key('tab')], new Editor({ complete }))).toBe('/mode ')
    expect(written(['/n', key('tab')], new Editor({ complete }))).toBe('/new ')
    expect(written(['/x', key('tab')], new Editor({ complete }))).toBe('/x')
  })

  it('inserts the suggestion with Tab, and sends it with Enter', () => {
    const suggestion = () => 'Try this'
    expect(written([key('tab')], new Editor({ suggestion }))).toBe('Try this ')
    expect(new Editor({ suggestion }).key(key('return'))).toBe('Try this')
  })

  it('fits into a terminal of any width, with the right cursor position', () => {
    const anyKey = fc.oneof(
      fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
        .map((pasted): Key => ({ kind: 'paste', text: pasted })),
      fc.constantFrom(
        key('left'),
        key('right'),
        key('up'),
        key('down'),
        key('enter'),
        key('backspace'),
        ctrl('w'),
        ctrl('k'),
        alt('f'),
      ),
    )
    fc.assert(
      fc.property(
        fc.array(anyKey, { maxLength: 40 }),
        fc.integer({ min: 8, max: 60 }),
        fc.integer({ min: 1, max: 8 }),
        (pressed, columns, rows) => {
          const editor = new Editor()
          for (const each of pressed) editor.key(each)
          const { lines, cursor } = editor.view({ prompt: '› ', columns, rows })
          expect(lines.length).toBeGreaterThan(0)
          expect(lines.length).toBeLessThanOrEqual(rows)
          // An escaped control character can be wider than a narrow terminal; no user can type one.
          for (const line of lines.filter((each) => !each.includes('\\')))
            expect(widthOf(line)).toBeLessThan(columns)
          expect(cursor.row).toBeGreaterThanOrEqual(0)
          expect(cursor.row).toBeLessThan(lines.length)
          expect(cursor.column).toBeLessThan(columns)
        },
      ),
      { numRuns: propertyRuns(200) },
    )
  })
})
