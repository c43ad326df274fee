import { Lexer, type Token } from 'marked'
import type { Colors } from '../../terminal/colors.js'
import { safeText } from '../../terminal/safe-text.js'
import { blockLines } from './block-lines.js'

/** Formats an answer while it is streamed. */
export interface AnswerStream {
  add(text: string): void
  /** The lines that are final since the last call. */
  settle(columns: number): string[]
  /** The lines that can still change. */
  rest(columns: number): string[]
  /** The remaining lines. A new answer can start after it. */
  end(columns: number): string[]
}

/**
 * Formats streamed markdown. A block is final once the next one has started; the finished lines of a long list or code
 * block are final earlier. Only the last block is parsed again, so the cost per piece of text stays constant in a long
 * answer.
 */
export class MarkdownStream implements AnswerStream {
  readonly #colors: Colors
  #text = ''
  /** The end of the text, which can be an incomplete character or escape sequence. */
  #half = ''
  #printed = 0
  /** How many lines of the last block were printed, and at which width: its remaining lines use the same width. */
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
    // Tokens do not always contain all of their source text. In that case, the text cannot be cut yet.
    if (token === undefined || !this.#text.startsWith(whole)) return []
    // A number at the end can become another item of the preceding list.
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

  /** The lines of a finished block, without those that were printed earlier. */
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

/** Passes the text through line by line, for pipes and files. */
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
