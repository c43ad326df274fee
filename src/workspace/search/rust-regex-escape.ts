import { tryOr } from '../../tool/errors.js'
/** The meaning of an escape, in JavaScript's `v` syntax. */
export type Escape = {
  readonly outside: string
  /** The same as part of a class; undefined if it is not allowed there. */
  readonly inside: string | undefined
  readonly repeatable: boolean
  /** The character that the escape represents, if it is exactly one. */
  readonly literal?: string | undefined
  readonly next: number
}

// Rust's classes are Unicode classes, JavaScript's short ones are not. None matches a line end (ripgrep removes those).
const wordItems = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}'
const word = `[${wordItems}]`
const spaceItems =
  '\\t\\v\\f\\u{20}\\u{85}\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}'

const classes: Readonly<Record<string, string>> = {
  d: '[\\p{Nd}]',
  D: '[^\\p{Nd}\\r\\n]',
  w: word,
  W: `[^${wordItems}\\r\\n]`,
  s: `[${spaceItems}]`,
  S: `[^${spaceItems}\\r\\n]`,
}
const assertions: Readonly<Record<string, string>> = {
  b: `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`,
  B: `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`,
}
const controls: Readonly<Record<string, string>> = { t: '\t', f: '\f', v: '\v', a: '\u0007' }

/** Parses the escape that starts at `start`; undefined when the two engines do not interpret it in the same way. */
export function parseEscape(chars: readonly string[], start: number): Escape | undefined {
  const char = chars[start + 1] ?? ''
  const next = start + 2
  const text = classes[char]
  if (text !== undefined) return { outside: text, inside: text, repeatable: true, next }
  const assertion = assertions[char]
  // `\b{start}` and similar are different assertions.
  if (assertion !== undefined && chars[next] !== '{') {
    return { outside: assertion, inside: undefined, repeatable: false, next }
  }
  const control = controls[char]
  if (control !== undefined) return literal(control, next)
  if (char === 'x' || char === 'u' || char === 'U') return codePoint(chars, start)
  if (char === 'p' || char === 'P') return property(chars, start)
  // `\<` and `\>` are word boundaries in Rust.
  return /^[!-/:;=?@[-`{-~]$/.test(char) ? literal(char, next) : undefined
}

/** Translates `[:alpha:]` and similar classes, which are ASCII as in Rust. */
export function namedClass(text: string): { readonly text: string; readonly length: number } | undefined {
  const match = /^\[:(\^?)(\w+):\]/.exec(text)
  const items = match?.[2] === undefined ? undefined : posix[match[2]]
  if (match === null || items === undefined) return undefined
  return { text: match[1] === '^' ? `[^${items}\\r\\n]` : `[${items}]`, length: match[0].length }
}

const posix: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  blank: '\\t\\u{20}',
  digit: '0-9',
  lower: 'a-z',
  punct: '\\u{21}-\\u{2f}\\u{3a}-\\u{40}\\u{5b}-\\u{60}\\u{7b}-\\u{7e}',
  space: '\\t\\v\\f\\u{20}',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
}

function codePoint(chars: readonly string[], start: number): Escape | undefined {
  const rest = chars.slice(start, start + 14).join('')
  const match = /^\\(?:x([\dA-Fa-f]{2})|u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|[xuU]\{([\dA-Fa-f]{1,8})\})/.exec(
    rest,
  )
  const digits = match?.slice(1).find((each) => each !== undefined)
  if (match === null || digits === undefined) return undefined
  const point = Number.parseInt(digits, 16)
  const isLineEnd = point === 0x0a || point === 0x0d
  const valid = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff)
  return valid && !isLineEnd ? literal(String.fromCodePoint(point), start + match[0].length) : undefined
}

function property(chars: readonly string[], start: number): Escape | undefined {
  const rest = chars.slice(start, start + 60).join('')
  const match = /^\\([pP])(?:([A-Z])|\{(\w+)\})/.exec(rest)
  const name = match?.[2] ?? match?.[3]
  if (match === null || name === undefined) return undefined
  const item = [`\\p{${name}}`, `\\p{Script=${name}}`].find(isProperty)
  if (item === undefined) return undefined
  const text = match[1] === 'P' ? `[^${item}\\r\\n]` : item
  return { outside: text, inside: text, repeatable: true, next: start + match[0].length }
}

function isProperty(item: string): boolean {
  return tryOr(() => new RegExp(item, 'v') instanceof RegExp, false)
}

function literal(char: string, next: number): Escape {
  const text = `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
  return { outside: text, inside: text, repeatable: true, literal: char, next }
}
