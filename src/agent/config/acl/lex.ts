import type { Span } from './ast.js'
import { maxTokenLength } from './limits.js'

/** The kind of a token. A `fault` is a character that does not start a token; it is already reported. */
export type TokenKind = 'name' | 'text' | 'number' | 'end' | 'fault' | Mark
type Mark = '=' | ':' | '+=' | '{' | '}' | '[' | ']' | '(' | ')' | ','

export type Token = {
  readonly kind: TokenKind
  /** The name, or the value of the quoted string. */
  readonly text: string
  readonly number: number
  readonly span: Span
  /** Whether only spaces precede it in its line. */
  readonly startsLine: boolean
}

/** Reports problems. After `fail`, the lexer continues after the faulty text; `halt` does not return. */
export type Complaints = {
  fail(span: Span, message: string): void
  halt(span: Span, message: string): never
}

const space = /[ \t\f\v\r\u00a0]+/y
const name = /[A-Za-z_][A-Za-z0-9_]*/y
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** Matches everything that can be intended as one number, so that it is reported as one problem. */
const numberLike = /[-+]?[0-9][A-Za-z0-9_.]*(?:(?<=[eE])[+-][0-9]+)?/y
const marks: ReadonlySet<string> = new Set(['=', ':', '{', '}', '[', ']', '(', ')', ','])
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', '"': '"' }

/** Returns the tokens of a document one by one; after the last one, always `end`. */
export function createLexer(source: string, complaints: Complaints): () => Token {
  let at = source.startsWith('\ufeff') ? 1 : 0
  let line = 1
  let lineStart = at
  let startsLine = true

  return function next(): Token {
    skipSpaceAndComments()
    const token = readToken()
    startsLine = false
    return token
  }

  function skipSpaceAndComments(): void {
    for (;;) {
      at = matchEnd(space, source, at)
      const char = source[at]
      if (char === '\n') {
        at++
        newLine()
      } else if (char === '#' || source.startsWith('//', at)) skipToLineEnd()
      else if (source.startsWith('/*', at)) skipBlockComment()
      else return
    }
  }

  function skipToLineEnd(): void {
    const end = source.indexOf('\n', at)
    at = end < 0 ? source.length : end
  }

  function skipBlockComment(): void {
    const opened = spanOf(at + 2)
    const close = source.indexOf('*/', at + 2)
    const end = close < 0 ? source.length : close + 2
    if (close < 0) complaints.fail(opened, 'this comment is not closed: "*/" is missing')
    // Searches for newlines only inside the comment, so that many short comments in a long line stay cheap.
    while (at < end) if (source[at++] === '\n') newLine()
  }

  function newLine(): void {
    line++
    lineStart = at
    startsLine = true
  }

  function readToken(): Token {
    const char = source[at]
    if (char === undefined) return token('end', at)
    if (char === '"' || char === "'") return readText(char)
    const nameEnd = matchEnd(name, source, at)
    if (nameEnd > at) return token('name', nameEnd, source.slice(at, nameEnd))
    const numberEnd = matchEnd(numberLike, source, at)
    if (numberEnd > at) return readNumber(numberEnd)
    if (source.startsWith('+=', at)) return token('+=', at + 2)
    if (marks.has(char)) return token(char as Mark, at + 1)
    const end = at + ((source.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
    complaints.fail(spanOf(end), describeStray(source, at))
    return token('fault', end)
  }

  function readNumber(end: number): Token {
    const value = Number(source.slice(at, end))
    if (matchEnd(number, source, at) !== end)
      complaints.fail(spanOf(end), 'this is not a number: write 42, -1, 3.14 or 1e10')
    else if (!Number.isFinite(value)) complaints.fail(spanOf(end), 'this number is too large')
    return token('number', end, '', Number.isFinite(value) ? value : 0)
  }

  function readText(quote: '"' | "'"): Token {
    let text = ''
    let from = at + 1
    for (let end = from; ; end++) {
      const char = source[end]
      if (char === undefined || char === '\n') {
        complaints.fail(
          spanOf(at + 1),
          'this string is not closed: the quotation mark is missing in its line',
        )
        return token('text', end)
      }
      if (char === quote) {
        text += source.slice(from, end)
        return token('text', end + 1, text)
      }
      if (char !== '\\') continue
      const escaped = source[end + 1] ?? ''
      const means = quote === '"' ? escapes[escaped] : escaped === "'" ? "'" : undefined
      if (means !== undefined) {
        text += source.slice(from, end) + means
        end++
        from = end + 1
      } else if (quote === '"' && escaped !== '' && escaped !== '\n') {
        complaints.fail(
          spanOf(end + 2, end),
          'unknown escape in a string: use \\n, \\r, \\t, \\\\ or \\"; write \\\\ for a backslash',
        )
        end++
      }
    }
  }

  function token(kind: TokenKind, end: number, text = '', value = 0): Token {
    if (end - at > maxTokenLength) {
      complaints.halt(spanOf(at + 1), `a string, name or number is longer than ${maxTokenLength / 1024} KiB`)
    }
    const made = { kind, text, number: value, span: spanOf(end), startsLine }
    at = end
    return made
  }

  function spanOf(end: number, start = at): Span {
    return { line, column: start - lineStart + 1, offset: start, end }
  }
}

function matchEnd(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(source) ? pattern.lastIndex : at
}

/**
 * Describes an unexpected character. A punctuation mark is shown, because it reveals nothing about the text around it.
 */
function describeStray(source: string, at: number): string {
  const char = source[at] ?? ''
  switch (char) {
    case '/':
      return 'a single "/" has no meaning here: comments start with "//" or "#", and a path is a string in quotes'
    case ';':
      return '";" has no meaning here: items are separated by a new line, a space or ","'
    case '-':
    case '.':
      return `"${char}" has no meaning here: write a name with this character, and every string, in quotes`
    case '$':
      return '"$" has no meaning here: write env("NAME") for an environment variable'
    case '<':
      return '"<" has no meaning here: write a string in quotes, in one line'
    case '`':
    case '\u201c':
    case '\u201d':
    case '\u2018':
    case '\u2019':
      return `this quotation mark is not " or '`
  }
  if (/[!-/:-@[-`{-~]/.test(char)) return `"${char}" has no meaning here`
  return `unexpected character U+${(source.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
