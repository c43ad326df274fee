import { type GlobToken, matchesGlob } from './glob.js'

/** One name of a path pattern, in the cheapest form that can match it; `deep` matches any number of names. */
export type PathSegment =
  | { readonly kind: 'deep' }
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'prefix'; readonly text: string }
  | { readonly kind: 'suffix'; readonly text: string }
  | { readonly kind: 'glob'; readonly tokens: readonly GlobToken[]; readonly literals: number }

/** How names are compared: exactly, without case, or like the most lenient file system. */
export type NameComparison = 'exact' | 'ignore-case' | 'loose'

export const deepSegment: PathSegment = { kind: 'deep' }

export function literalSegment(name: string, comparison: NameComparison): PathSegment {
  return { kind: 'literal', text: comparableName(name, comparison) }
}

/** Creates the segment for the tokens of one name, without slashes and without `**`. */
export function segmentOf(tokens: readonly GlobToken[], comparison: NameComparison): PathSegment {
  const stars = tokens.filter(({ kind }) => kind === 'star').length
  const chars = tokens.flatMap((token) => (token.kind === 'char' ? [token.char] : []))
  const plain = chars.length + stars === tokens.length
  const text = comparableName(chars.join(''), comparison)
  if (plain && stars === 0) return { kind: 'literal', text }
  if (plain && stars === 1 && tokens.at(-1)?.kind === 'star') return { kind: 'prefix', text }
  if (plain && stars === 1 && tokens[0]?.kind === 'star') return { kind: 'suffix', text }
  const compared = tokens.flatMap((token): GlobToken[] =>
    token.kind === 'char'
      ? [...comparableName(token.char, comparison)].map((char) => ({ kind: 'char', char }))
      : [token],
  )
  return { kind: 'glob', tokens: compared, literals: chars.length }
}

/** Returns whether names match a whole pattern. Time is at most the product of both lengths. */
export function matchesSegments(
  pattern: readonly PathSegment[],
  names: readonly string[],
  comparison: NameComparison,
): boolean {
  let at = 0
  let segment = 0
  let afterDeep = -1
  let deepAt = 0
  while (at < names.length) {
    const current = pattern[segment]
    if (current?.kind === 'deep') {
      segment += 1
      if (segment === pattern.length) return true
      afterDeep = segment
      deepAt = at
    } else if (current !== undefined && fits(current, names[at] ?? '', comparison)) {
      segment += 1
      at += 1
    } else if (afterDeep >= 0) {
      deepAt += 1
      at = deepAt
      segment = afterDeep
    } else {
      return false
    }
  }
  while (pattern[segment]?.kind === 'deep') segment += 1
  return segment === pattern.length
}

/** Counts the fixed characters of a segment; the slash before it counts as one. */
export function literalLength(segment: PathSegment): number {
  if (segment.kind === 'deep') return 0
  return 1 + (segment.kind === 'glob' ? segment.literals : segment.text.length)
}

/**
 * Returns a name in the form in which patterns are compared. `loose` removes what lenient file systems ignore: case,
 * zero-width characters, trailing dots and blanks, the name of a stream after a colon (CVE-2025-59944 and similar).
 */
export function comparableName(name: string, comparison: NameComparison): string {
  const composed = isAscii(name) ? name : name.normalize(comparison === 'loose' ? 'NFKC' : 'NFC')
  if (comparison === 'exact') return composed
  if (comparison === 'ignore-case') return composed.toLowerCase()
  return composed.replace(invisible, '').replace(/:.*$/s, '').toLowerCase()
}

/** Returns the comparable name of a path, where trailing dots and blanks are ignored; in a pattern they are literal. */
export function comparablePathName(name: string, comparison: NameComparison): string {
  const comparable = comparableName(name, comparison)
  return comparison === 'loose' ? withoutTail(comparable) : comparable
}

const invisible = /\p{Default_Ignorable_Code_Point}/gu

function fits(segment: PathSegment, name: string, comparison: NameComparison): boolean {
  switch (segment.kind) {
    case 'literal':
      return name === segment.text || (comparison === 'loose' && isShortNameOf(name, segment.text))
    case 'prefix':
      return name.startsWith(segment.text)
    case 'suffix':
      return name.endsWith(segment.text)
    case 'glob':
      return matchesGlob(segment.tokens, name, comparison !== 'exact')
    case 'deep':
      return false
  }
}

/** `GIT~1` opens `.git` on volumes with 8.3 names. */
function isShortNameOf(name: string, long: string): boolean {
  const tilde = name.indexOf('~')
  if (tilde < 1 || tilde > 6) return false
  return long.replaceAll('.', '').startsWith(name.slice(0, tilde))
}

/** A loop, because a regular expression with two repeated classes before the end is quadratic on hostile names. */
function withoutTail(name: string): string {
  let end = name.length
  while (end > 1 && (name[end - 1] === '.' || name[end - 1] === ' ')) end -= 1
  return name.slice(0, end)
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}
