import { SearchError } from './errors.js'
import { namedClass, parseEscape } from './rust-regex-escape.js'

export type TranslatedRegex = {
  readonly source: string
  readonly flags: string
  /** A text that every match contains; empty when none is known. */
  readonly literal: string
}

/**
 * Translates a pattern from the syntax of Rust's regex crate (ripgrep's) to a JavaScript one with the same meaning
 * within a line. A construct that the two engines interpret differently is rejected, so that a search returns the same
 * result with and without ripgrep:
 *
 * - look-around and backreferences: ripgrep rejects them too
 * - flags other than a leading `(?i)`, nested classes, class operators (`&&`, `--`, `~~`), `\A`, `\z`, `\<`, `\>`,
 *   `\b{…}`, `\r`, `\n`, and a repetition of a repetition: valid in ripgrep, rejected here
 *
 * `.`, negated classes and `\s` never match a carriage return, and `^` and `$` match next to one, as with ripgrep's
 * `--crlf`. Text that is not UTF-8 is searched as U+FFFD here and as bytes in ripgrep.
 */
export function translateRegex(pattern: string, ignoreCase: boolean): TranslatedRegex {
  const insensitive = pattern.startsWith('(?i)')
  const state = translate(insensitive ? pattern.slice(4) : pattern, pattern)
  const flags = ignoreCase || insensitive ? 'vi' : 'v'
  try {
    new RegExp(state.source, flags)
  } catch (cause) {
    throw refuse(pattern, 'it is malformed, or valid only with ripgrep', cause)
  }
  return { source: state.source, flags, literal: flags === 'v' ? state.literal : '' }
}

// Also matches next to a lone CR, but never between CR and LF.
const lineStart = '(?:^|(?<=\\r)(?!\\n))'
const lineEnd = '(?:(?=\\r)|(?<!\\r)(?=\\n)|$)'

function translate(body: string, pattern: string): { source: string; literal: string } {
  const chars = [...body]
  const literals = new LiteralRun()
  const names = new Set<string>()
  let source = ''
  let depth = 0
  let repeatable = false
  let index = 0
  const emit = (text: string, canRepeat: boolean) => {
    source += text
    repeatable = canRepeat
  }
  while (index < chars.length) {
    const char = chars[index] ?? ''
    if ('*+?{'.includes(char)) {
      const [text, next] = readRepetition(chars, index, pattern)
      if (!repeatable)
        throw refuse(pattern, `the repetition "${text}" has nothing to repeat, or repeats another`)
      literals.repeated()
      emit(text, false)
      index = next
      continue
    }
    literals.settle()
    if (char === '\\') {
      const read = parseEscape(chars, index)
      if (read === undefined) throw refuseEscape(pattern, chars, index)
      if (read.literal === undefined) literals.stop()
      else if (depth === 0) literals.add(read.literal)
      emit(read.outside, read.repeatable)
      index = read.next
    } else if (char === '[') {
      const [text, next] = readClass(chars, index, pattern)
      literals.stop()
      emit(text, true)
      index = next
    } else if (char === '(') {
      const group = readGroupStart(chars, index, pattern)
      if (group.name !== undefined && names.has(group.name))
        throw refuse(pattern, 'two groups have the same name')
      if (group.name !== undefined) names.add(group.name)
      index = group.next
      depth += 1
      literals.stop()
      emit('(?:', false)
    } else if (char === ')') {
      depth -= 1
      if (depth < 0) throw refuse(pattern, 'a group is closed that was not opened')
      literals.stop()
      emit(')', true)
      index += 1
    } else {
      index += 1
      if (char === '|' && depth === 0) literals.forget()
      if (char === '.') emit('[^\\r\\n]', true)
      else if (char === '^') emit(lineStart, false)
      else if (char === '$') emit(lineEnd, false)
      else if (char === '|') emit('|', false)
      else emit(escapeLiteral(char), true)
      if ('.^$|'.includes(char)) literals.stop()
      else if (depth === 0) literals.add(char)
    }
  }
  if (depth > 0) throw refuse(pattern, 'a group is not closed')
  return { source, literal: literals.longest() }
}

/** Collects the consecutive characters that every match contains, outside of groups. */
class LiteralRun {
  private run = ''
  private pending = ''
  private best = ''
  private none = false

  add(char: string): void {
    this.pending = char
  }
  /** Called when no repetition follows the last character. */
  settle(): void {
    this.run += this.pending
    this.pending = ''
  }
  repeated(): void {
    this.pending = ''
    this.stop()
  }
  stop(): void {
    if (this.run.length > this.best.length) this.best = this.run
    this.run = ''
  }
  forget(): void {
    this.none = true
  }
  longest(): string {
    this.settle()
    this.stop()
    return this.none ? '' : this.best
  }
}

function readRepetition(chars: readonly string[], start: number, pattern: string): [string, number] {
  let text = chars[start] ?? ''
  if (text === '{') {
    text = /^\{\d{1,4}(,\d{0,4})?\}/.exec(chars.slice(start, start + 12).join(''))?.[0] ?? ''
    if (text === '') throw refuse(pattern, 'a "{" that is not a repetition must be written "\\{"')
  }
  const next = start + text.length
  return chars[next] === '?' ? [`${text}?`, next + 1] : [text, next]
}

function readGroupStart(
  chars: readonly string[],
  start: number,
  pattern: string,
): { readonly next: number; readonly name?: string } {
  if (chars[start + 1] !== '?') return { next: start + 1 }
  const head = chars.slice(start, start + 100).join('')
  if (/^\(\?<?[=!]/.test(head)) throw refuse(pattern, 'look-around is not supported')
  const known = /^\(\?(?::|P?<([A-Za-z_]\w*)>)/.exec(head)
  if (known === null) throw refuse(pattern, `"${head.slice(0, 4)}" needs ripgrep, which cannot run here`)
  const next = start + known[0].length
  return known[1] === undefined ? { next } : { next, name: known[1] }
}

function readClass(chars: readonly string[], start: number, pattern: string): [string, number] {
  let index = start + 1
  const negated = chars[index] === '^'
  if (negated) index += 1
  let items = ''
  for (let first = true; ; first = false) {
    const char = chars[index]
    if (char === undefined) throw refuse(pattern, 'a class "[…" is not closed')
    if (char === ']' && !first) break
    const item = readClassItem(chars, index, pattern)
    index = item.next
    const high = chars[index] === '-' && chars[index + 1] !== ']' ? chars[index + 1] : undefined
    if (high === undefined || item.point === undefined) {
      items += item.text
      continue
    }
    const end = readClassItem(chars, index + 1, pattern)
    if (end.point === undefined) throw refuse(pattern, 'a range in a class has no end')
    items += `${item.text}-${end.text}`
    index = end.next
  }
  return [negated ? `[^${items}\\r\\n]` : `[${items}]`, index + 1]
}

function readClassItem(
  chars: readonly string[],
  index: number,
  pattern: string,
): { text: string; next: number; point?: number } {
  const char = chars[index] ?? ''
  if (char === '\\') {
    const read = parseEscape(chars, index)
    if (read?.inside === undefined) throw refuseEscape(pattern, chars, index)
    const point = read.literal?.codePointAt(0)
    return { text: read.inside, next: read.next, ...(point === undefined ? {} : { point }) }
  }
  if (char === '[') {
    const named = namedClass(chars.slice(index, index + 14).join(''))
    if (named === undefined)
      throw refuse(pattern, 'classes inside classes need ripgrep; write "\\[" for a bracket')
    return { text: named.text, next: index + named.length }
  }
  if ('&-~'.includes(char) && chars[index + 1] === char) {
    throw refuse(pattern, `the class operator "${char}${char}" needs ripgrep, which cannot run here`)
  }
  const point = char.codePointAt(0) ?? 0
  return { text: `\\u{${point.toString(16)}}`, next: index + 1, point }
}

function escapeLiteral(char: string): string {
  return /^[\w\s]$/.test(char) && char !== '\r' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`
}

function refuseEscape(pattern: string, chars: readonly string[], index: number): SearchError {
  const shown = chars.slice(index, index + 2).join('')
  if (/^\\[1-9k]$/.test(shown)) return refuse(pattern, 'backreferences are not supported')
  return refuse(pattern, `the escape "${shown}" is unknown, or needs ripgrep`)
}

function refuse(pattern: string, why: string, cause?: unknown): SearchError {
  return new SearchError(
    'search_pattern_invalid',
    `Invalid regex pattern '${pattern.slice(0, 200)}': ${why}.`,
    cause === undefined ? undefined : { cause },
  )
}
