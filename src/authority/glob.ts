import { PatternError } from './pattern-error.js'

/**
 * The pattern language for one path name, and the parser of whole patterns. Hand-written because a deny must be exact
 * about dot files and take linear time on hostile input; no glob library does both.
 */

export type GlobToken =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'slash' }
  | { readonly kind: 'any' }
  | { readonly kind: 'star' }
  | { readonly kind: 'deep' }
  | {
      readonly kind: 'class'
      readonly negated: boolean
      readonly ranges: readonly (readonly [number, number])[]
    }

export const globLimits = { length: 1024, stars: 32, alternatives: 64 } as const

/**
 * Parses a pattern into the sequences that its `{a,b}` expand to. Throws {@link PatternError} for an invalid pattern
 * and for one that is too large to match quickly.
 */
export function parseGlob(text: string, maxLength: number = globLimits.length): GlobToken[][] {
  if (text.length > maxLength) throw new PatternError(text, maxLength, `Longer than ${maxLength} characters`)
  const reader: Reader = { text, at: 0, stars: 0 }
  const sequences = readSequences(reader, 0)
  if (reader.at < text.length) throw new PatternError(text, reader.at, `"${text[reader.at]}" without its "{"`)
  return sequences
}

/**
 * Returns whether a name matches. Time is at most the product of both lengths: a star backtracks only to the last
 * star before it.
 */
export function matchesGlob(tokens: readonly GlobToken[], name: string, ignoreCase: boolean): boolean {
  let at = 0
  let token = 0
  let afterStar = -1
  let starAt = 0
  while (at < name.length) {
    const current = tokens[token]
    const code = name.codePointAt(at) ?? 0
    const width = code > 0xffff ? 2 : 1
    if (current?.kind === 'star') {
      token += 1
      afterStar = token
      starAt = at
    } else if (current !== undefined && fits(current, code, ignoreCase)) {
      token += 1
      at += width
    } else if (afterStar >= 0) {
      starAt += (name.codePointAt(starAt) ?? 0) > 0xffff ? 2 : 1
      at = starAt
      token = afterStar
    } else {
      return false
    }
  }
  while (tokens[token]?.kind === 'star') token += 1
  return token === tokens.length
}

type Reader = { readonly text: string; at: number; stars: number }

const maxBraceDepth = 8

function readSequences(reader: Reader, depth: number): GlobToken[][] {
  const { text } = reader
  let sequences: GlobToken[][] = [[]]
  while (reader.at < text.length) {
    const char = text[reader.at]
    if (char === '}' || (char === ',' && depth > 0)) break
    if (char === '{') {
      const from = reader.at
      const group = readGroup(reader, depth + 1)
      sequences = sequences.flatMap((start) => group.map((end) => [...start, ...end]))
      if (sequences.length > globLimits.alternatives)
        throw new PatternError(text, from, `More than ${globLimits.alternatives} alternatives`)
      continue
    }
    const token = readToken(reader)
    for (const sequence of sequences) sequence.push(token)
  }
  return sequences
}

function readGroup(reader: Reader, depth: number): GlobToken[][] {
  const { text } = reader
  const from = reader.at
  if (depth > maxBraceDepth) throw new PatternError(text, from, `Braces nested deeper than ${maxBraceDepth}`)
  const choices: GlobToken[][] = []
  let count = 0
  do {
    reader.at += 1
    choices.push(...readSequences(reader, depth))
    count += 1
  } while (text[reader.at] === ',')
  if (text[reader.at] !== '}') throw new PatternError(text, from, '"{" without its "}"')
  if (count < 2) throw new PatternError(text, from, 'Braces with fewer than two alternatives')
  reader.at += 1
  return choices
}

function readToken(reader: Reader): GlobToken {
  const { text } = reader
  const from = reader.at
  const char = String.fromCodePoint(text.codePointAt(from) ?? 0)
  if (char === '\0') throw new PatternError(text, from, 'A NUL character')
  reader.at += char.length
  if (char === '/') return { kind: 'slash' }
  if (char === '?') return { kind: 'any' }
  if (char === '*') return readStars(reader)
  if (char === '[') return readClass(reader, from)
  if (char !== '\\') return { kind: 'char', char }
  if (reader.at >= text.length) throw new PatternError(text, from, 'A backslash with nothing after it')
  const escaped = String.fromCodePoint(text.codePointAt(reader.at) ?? 0)
  reader.at += escaped.length
  return escaped === '/' ? { kind: 'slash' } : { kind: 'char', char: escaped }
}

function readStars(reader: Reader): GlobToken {
  const { text } = reader
  reader.stars += 1
  if (reader.stars > globLimits.stars)
    throw new PatternError(text, reader.at - 1, `More than ${globLimits.stars} stars`)
  if (text[reader.at] !== '*') return { kind: 'star' }
  while (text[reader.at] === '*') reader.at += 1
  return { kind: 'deep' }
}

function readClass(reader: Reader, from: number): GlobToken {
  const { text } = reader
  const negated = text[reader.at] === '!' || text[reader.at] === '^'
  if (negated) reader.at += 1
  const ranges: [number, number][] = []
  const first = reader.at
  while (reader.at < text.length && (text[reader.at] !== ']' || reader.at === first)) {
    const low = readClassChar(reader, from)
    if (text[reader.at] !== '-' || text[reader.at + 1] === ']' || reader.at + 1 >= text.length) {
      ranges.push([low, low])
      continue
    }
    const dash = reader.at
    reader.at += 1
    const high = readClassChar(reader, from)
    if (high < low) throw new PatternError(text, dash, 'A range in reverse order')
    ranges.push([low, high])
  }
  if (text[reader.at] !== ']') throw new PatternError(text, from, '"[" without its "]"')
  reader.at += 1
  return { kind: 'class', negated, ranges }
}

function readClassChar(reader: Reader, from: number): number {
  const { text } = reader
  if (text[reader.at] === '\\') reader.at += 1
  const code = text.codePointAt(reader.at)
  if (code === undefined) throw new PatternError(text, from, '"[" without its "]"')
  // A class matches one character of one name, and no name contains a slash.
  if (code === 0x2f) throw new PatternError(text, reader.at, 'A slash inside "[ ]"')
  reader.at += code > 0xffff ? 2 : 1
  return code
}

function fits(token: GlobToken, code: number, ignoreCase: boolean): boolean {
  if (token.kind === 'any') return true
  if (token.kind === 'char') return token.char.codePointAt(0) === code
  if (token.kind !== 'class') return false
  const inside = inRanges(token.ranges, code) || (ignoreCase && inRanges(token.ranges, upper(code)))
  return inside !== token.negated
}

function inRanges(ranges: readonly (readonly [number, number])[], code: number): boolean {
  return ranges.some(([low, high]) => code >= low && code <= high)
}

function upper(code: number): number {
  return String.fromCodePoint(code).toUpperCase().codePointAt(0) ?? code
}
