import { YamlError } from './errors.js'
import { trimBlanks, trimBlanksEnd } from './scalars.js'

/** A text with access by line and by character, and a current position. */
export class SourceText {
  readonly text: string
  /** A sequence's dash is replaced by a space after it was read, so that its value is on a line like any other. */
  readonly lines: string[]
  readonly #starts: number[] = []
  readonly #firstLine: number
  /** The index of the next line. */
  at = 0

  /** `firstLine` is the number of the text's first line in its file. */
  constructor(text: string, firstLine: number) {
    this.text = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n')
    this.lines = this.text.split('\n')
    this.#firstLine = firstLine
    let start = 0
    for (const line of this.lines) {
      this.#starts.push(start)
      start += line.length + 1
    }
  }

  /** Returns the next line that has content, and its indentation; undefined at the end. */
  peek(): { readonly indent: number; readonly text: string } | undefined {
    while (this.at < this.lines.length) {
      const line = this.lines[this.at] ?? ''
      const indent = indentOf(line)
      const text = trimBlanksEnd(line.slice(indent))
      if (text !== '' && !text.startsWith('#')) {
        if (text.startsWith('\t')) throw this.problem('indented with a tab; use spaces')
        return { indent, text }
      }
      this.at += 1
    }
    return undefined
  }

  /** Returns the offset of a column of the next line in the whole text. */
  offset(column: number): number {
    return (this.#starts[this.at] ?? 0) + column
  }

  /** Continues after this offset, which must be the last on its line. */
  leave(offset: number): void {
    this.goTo(offset)
    const rest = this.text.slice(offset, this.offset((this.lines[this.at] ?? '').length))
    if (!/^[ \t]*(?:$|[ \t]#)/.test(rest) && trimBlanks(rest) !== '')
      throw this.problem(
        `unexpected text after the value: ${quoted(trimBlanks(rest))}; put the whole value in quotes`,
      )
    this.at += 1
  }

  /** Makes the line that contains this offset the next one. */
  goTo(offset: number): void {
    while (this.at + 1 < this.#starts.length && (this.#starts[this.at + 1] ?? 0) <= offset) this.at += 1
  }

  /** Returns the number of the next line in its file. */
  lineNumber(): number {
    return this.#firstLine + Math.min(this.at, this.lines.length - 1)
  }

  problem(text: string): YamlError {
    return new YamlError(this.lineNumber(), text)
  }
}

export function indentOf(line: string): number {
  let indent = 0
  while (line.charCodeAt(indent) === 0x20) indent += 1
  return indent
}

/** Returns the text in quotes, shortened for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text)
}
