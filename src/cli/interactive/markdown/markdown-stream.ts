import { Lexer, type Token } from 'marked'
import type { Colors } from '../../terminal/colors.js'
import { safeText } from '../../terminal/safe-text.js'
import { blockLines } from './block-lines.js'

/** An answer on its way to a terminal. */
export interface AnswerStream {
  add(text: string): void
  /** Lines that stay as they are, since it was last asked. */
  settle(columns: number): string[]
  /** The lines of what is still being written. */
  rest(columns: number): string[]
  /** All that is left; a new answer may begin. */
  end(columns: number): string[]
}

/**
 * Markdown as it comes: a block is printed once the next one has begun, and what is certain of a long list or a long piece of code even
 * before. Only the block at the end is ever looked at again, so that a long answer costs no more than several short ones.
 */
export class MarkdownStream implements AnswerStream {
  readonly #colors: Colors
  #text = ''
  /** What may be half of something. */
  #half = ''
  #printed = 0
  /** Lines of the last block that were printed already, and how wide they were made: the others of it are made alike. */
  #ahead = 0
  #width = 0

  constructor(colors: Colors) {
    this.#colors = colors
  }

  add(text: string): void {
    const all = this.#half + text
    const half = /(?:\r|[\ud800-\udbff])$/.exec(all)?.[0] ?? ''
    this.#half = half
    this.#text += safeText(half === '' ? all : all.slice(0, -half.length))
  }

  settle(columns: number): string[] {
    const tokens = Lexer.lex(this.#text)
    const last = tokens.findLastIndex(({ type }) => type !== 'space')
    const before = tokens.slice(0, Math.max(0, last))
    const whole = before.map(({ raw }) => raw).join('')
    const token = tokens[last]
    // Tokens do not always hold every letter they were made of; then there is nothing to cut at yet.
    if (token === undefined || !this.#text.startsWith(whole)) return []
    // A number may become one more item of the list before it.
    if (/^ {0,3}\d{1,9}[.)]?$/.test(token.raw)) return []
    const lines = before.flatMap((each) => this.#whole(each, columns))
    this.#text = this.#text.slice(whole.length)
    const block = blockLines(token, this.#colors, this.#widthFor(columns))
    if (block.settled > this.#ahead) {
      if (this.#ahead === 0) {
        lines.push(...this.#gap())
        this.#width = columns
      }
      lines.push(...block.lines.slice(this.#ahead, block.settled))
      this.#ahead = block.settled
    }
    return lines
  }

  rest(columns: number): string[] {
    const tokens = Lexer.lex(this.#text)
    const width = this.#widthFor(columns)
    const lines = tokens.flatMap((token) => blockLines(token, this.#colors, width).lines)
    const left = lines.slice(this.#ahead)
    return left.length > 0 && this.#ahead === 0 && this.#printed > 0 ? ['', ...left] : left
  }

  end(columns: number): string[] {
    this.#text += safeText(this.#half)
    this.#half = ''
    const lines: string[] = []
    for (const token of Lexer.lex(this.#text)) lines.push(...this.#whole(token, columns))
    this.#text = ''
    this.#printed = 0
    return lines
  }

  /** A block that is whole, without what was printed ahead. */
  #whole(token: Token, columns: number): string[] {
    const block = blockLines(token, this.#colors, this.#widthFor(columns)).lines
    if (block.length === 0) return []
    const lines = this.#ahead > 0 ? block.slice(this.#ahead) : [...this.#gap(), ...block]
    this.#ahead = 0
    this.#printed++
    return lines
  }

  #widthFor(columns: number): number {
    return this.#ahead > 0 ? this.#width : columns
  }

  #gap(): string[] {
    return this.#printed > 0 ? [''] : []
  }
}

/** The text as it is, line by line: for pipes and files. */
export class PlainStream implements AnswerStream {
  #text = ''

  add(text: string): void {
    this.#text += text
  }

  settle(): string[] {
    const end = this.#text.lastIndexOf('\n')
    const whole = this.#text.slice(0, end + 1)
    this.#text = this.#text.slice(end + 1)
    return whole === '' ? [] : safeText(whole).replace(/\n$/, '').split('\n')
  }

  rest(): string[] {
    return []
  }

  end(): string[] {
    const text = safeText(this.#text).trimEnd()
    this.#text = ''
    return text === '' ? [] : text.split('\n')
  }
}
