import { type GlobToken, globLimits, matchesGlob, parseGlob } from '../../authority/glob.js'
import { PatternError } from '../../authority/pattern-error.js'
import { SearchError } from './errors.js'

export type Glob = {
  /** Accepts a path with forward slashes, relative to the directory that the pattern is anchored at. */
  readonly matches: (path: string) => boolean
  /** Patterns for file names; every matching path matches at least one. Undefined when there is no such list. */
  readonly names: readonly string[] | undefined
}

/** The parts of a path pattern: each is the tokens of one name, or `**` for any number of names. */
type PathPattern = readonly (Segment | '**')[]
type Segment = readonly GlobToken[]

/**
 * Compiles a pattern as in .gitignore: without a slash it matches a name at any depth, with one it is anchored; `*` and
 * `?` stop at a slash, `**` does not; `[a-z]`, `[!a]`, `{a,b}` and `\\` work as usual; dot files are not special. A
 * leading `!` inverts it.
 *
 * A model may write the pattern, so matching takes time proportional to pattern times path, for every pattern.
 */
export function compileGlob(pattern: string): Glob {
  if (!pattern.startsWith('!')) return compilePositive(pattern)
  const { matches } = compilePositive(pattern.slice(1))
  return { matches: (path) => !matches(path), names: undefined }
}

/** Compiles a pattern in which a leading `!` has no special meaning. */
export function compilePositive(pattern: string): Glob {
  const problem = problemOf(pattern)
  if (problem !== undefined) throw invalid(pattern, problem)
  const patterns = readSequences(pattern).map(toPath)
  return { matches: matcherOf(patterns), names: namesOf(patterns) }
}

function problemOf(pattern: string): string | undefined {
  if (pattern === '') return 'it is empty'
  if (pattern.length > globLimits.length) return `it is longer than ${globLimits.length} characters`
  return pattern.split('/').includes('..') ? 'it contains "..", which could leave the directory' : undefined
}

function readSequences(pattern: string): GlobToken[][] {
  try {
    return parseGlob(pattern)
  } catch (thrown) {
    if (thrown instanceof PatternError) throw invalid(pattern, thrown.message)
    throw thrown
  }
}

function invalid(pattern: string, problem: string): SearchError {
  const shown = JSON.stringify(pattern.slice(0, 100))
  return new SearchError('search_pattern_invalid', `The glob ${shown} cannot be used: ${problem}.`)
}

function toPath(tokens: readonly GlobToken[]): PathPattern {
  const parts = splitAtSlashes(tokens)
  const anchored = parts.length > 1
  if (anchored && parts[0]?.length === 0) parts.shift()
  if (parts.at(-1)?.length === 0) parts[parts.length - 1] = [{ kind: 'deep' }]
  const named = parts.filter((part) => part.length > 0 && !(anchored && isDot(part)))
  const segments = named.map((part) =>
    part.length === 1 && part[0]?.kind === 'deep' ? '**' : toSegment(part),
  )
  return anchored ? segments : ['**', ...segments]
}

function splitAtSlashes(tokens: readonly GlobToken[]): GlobToken[][] {
  const parts: GlobToken[][] = [[]]
  for (const token of tokens) {
    if (token.kind === 'slash') parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

function isDot([first, second]: readonly GlobToken[]): boolean {
  return first?.kind === 'char' && first.char === '.' && second === undefined
}

/** Inside a name, `**` means the same as `*`. */
function toSegment(tokens: readonly GlobToken[]): Segment {
  return tokens.map((token) => (token.kind === 'deep' ? { kind: 'star' } : token))
}

function matcherOf(patterns: readonly PathPattern[]): (path: string) => boolean {
  if (patterns.some((pattern) => pattern.length > 0 && pattern.every((part) => part === '**')))
    return () => true
  const names = patterns.flatMap(([first, second, ...rest]) =>
    first === '**' && second !== undefined && second !== '**' && rest.length === 0 ? [second] : [],
  )
  // Most patterns are for names only, and a search has many paths.
  if (names.length === patterns.length)
    return (path) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return names.some((segment) => matchesGlob(segment, name, false))
    }
  return (path) => {
    const parts = path.split('/')
    return patterns.some((pattern) => matchPath(pattern, parts))
  }
}

/** Matches greedily and backtracks to the last `**` only: an earlier one never needs to match more. */
function matchPath(pattern: PathPattern, parts: readonly string[]): boolean {
  let at = 0
  let part = 0
  let starAt = -1
  let starPart = 0
  while (part < parts.length) {
    const wanted = pattern[at]
    if (wanted === '**') {
      // At the end it means the content of a directory, so it matches at least one part.
      if (at === pattern.length - 1) return true
      starAt = at
      starPart = part
      at += 1
    } else if (wanted !== undefined && matchesGlob(wanted, parts[part] ?? '', false)) {
      at += 1
      part += 1
    } else if (starAt >= 0) {
      starPart += 1
      part = starPart
      at = starAt + 1
    } else {
      return false
    }
  }
  return at === pattern.length
}

function namesOf(patterns: readonly PathPattern[]): readonly string[] | undefined {
  const names: string[] = []
  for (const pattern of patterns) {
    const last = pattern.at(-1)
    const name = last === undefined || last === '**' ? undefined : plainText(last)
    if (name === undefined) return undefined
    names.push(name)
  }
  return names
}

/** Returns the source of a segment that consists of letters, digits and `. _ - * ?`; undefined for others. */
function plainText(segment: Segment): string | undefined {
  let text = ''
  for (const token of segment) {
    if (token.kind === 'star') text += '*'
    else if (token.kind === 'any') text += '?'
    else if (token.kind === 'char' && /[\w.-]/.test(token.char)) text += token.char
    else return undefined
  }
  return text
}
