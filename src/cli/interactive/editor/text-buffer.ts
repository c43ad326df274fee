import { lettersOf } from '../../terminal/width.js'

/** A text and the position of its cursor. The cursor moves by graphemes. */
export type TextBuffer = { readonly text: string; readonly cursor: number }

export const emptyBuffer: TextBuffer = { text: '', cursor: 0 }

export function bufferOf(text: string): TextBuffer {
  return { text, cursor: text.length }
}

export function insert({ text, cursor }: TextBuffer, added: string): TextBuffer {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length }
}

export function left(buffer: TextBuffer): TextBuffer {
  return { ...buffer, cursor: buffer.cursor - letterBefore(buffer).length }
}

export function right(buffer: TextBuffer): TextBuffer {
  return { ...buffer, cursor: buffer.cursor + letterAfter(buffer).length }
}

export function wordLeft({ text, cursor }: TextBuffer): TextBuffer {
  const before = text.slice(0, cursor)
  return { text, cursor: before.length - (/[^\s]*\s*$/.exec(before)?.[0].length ?? 0) }
}

export function wordRight({ text, cursor }: TextBuffer): TextBuffer {
  return { text, cursor: cursor + (/^\s*[^\s]*/.exec(text.slice(cursor))?.[0].length ?? 0) }
}

export function lineStart({ text, cursor }: TextBuffer): TextBuffer {
  return { text, cursor: text.lastIndexOf('\n', cursor - 1) + 1 }
}

export function lineEnd({ text, cursor }: TextBuffer): TextBuffer {
  const end = text.indexOf('\n', cursor)
  return { text, cursor: end < 0 ? text.length : end }
}

/** Moves one line up, in the same column; undefined on the first line. */
export function up(buffer: TextBuffer): TextBuffer | undefined {
  const start = lineStart(buffer).cursor
  if (start === 0) return undefined
  return atLetter(buffer.text, lineStart({ ...buffer, cursor: start - 1 }).cursor, letterInLine(buffer))
}

/** Moves one line down; undefined on the last line. */
export function down(buffer: TextBuffer): TextBuffer | undefined {
  const end = lineEnd(buffer).cursor
  return end === buffer.text.length ? undefined : atLetter(buffer.text, end + 1, letterInLine(buffer))
}

/** Removes the text between the cursor and its new position. */
export function cut(buffer: TextBuffer, to: TextBuffer): { buffer: TextBuffer; removed: string } {
  const [start, end] = [Math.min(buffer.cursor, to.cursor), Math.max(buffer.cursor, to.cursor)]
  const { text } = buffer
  return {
    buffer: { text: text.slice(0, start) + text.slice(end), cursor: start },
    removed: text.slice(start, end),
  }
}

function letterBefore({ text, cursor }: TextBuffer): string {
  // This length is enough for any grapheme, and cheap in a long text.
  return lettersOf(text.slice(Math.max(0, cursor - 64), cursor)).at(-1) ?? ''
}

function letterAfter({ text, cursor }: TextBuffer): string {
  return lettersOf(text.slice(cursor, cursor + 64))[0] ?? ''
}

function letterInLine(buffer: TextBuffer): number {
  return lettersOf(buffer.text.slice(lineStart(buffer).cursor, buffer.cursor)).length
}

function atLetter(text: string, start: number, letter: number): TextBuffer {
  const end = lineEnd({ text, cursor: start }).cursor
  const letters = lettersOf(text.slice(start, end)).slice(0, letter)
  return { text, cursor: start + letters.join('').length }
}
