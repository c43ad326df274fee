import { type GlobToken, globLimits, parseGlob } from './glob.js'
import { normalSegments } from './lexical-path.js'
import { pathKeys, sequenceKeys } from './path-key.js'
import {
  comparableName,
  comparablePathName,
  deepSegment,
  literalLength,
  literalSegment,
  matchesSegments,
  type NameComparison,
  type PathSegment,
  segmentOf,
} from './path-segment.js'
import { PatternError } from './pattern-error.js'
import { insideRoots, type Scope, workspaceRoots } from './scope.js'
import { expandVariables } from './variables.js'

/**
 * The use of a pattern. A permission is strict: it matches only inside the scope unless it is absolute, and nothing
 * below a match. A restriction is broad: `**` starts anywhere, and everything below a match is covered (SEC-034).
 */
export type PathPatternUse = 'permit' | 'restrict'

/** A compiled path pattern. */
export type PathPattern = {
  readonly text: string
  readonly comparison: NameComparison
  /** Absolute sequences; a path must match one. None: it matches nothing. */
  readonly sequences: readonly (readonly PathSegment[])[]
  readonly specificity: number
  /** For an index: for each sequence, the keys that every matching path has. */
  readonly keys: readonly (readonly string[])[]
}

/** The scope and the use of a path pattern. */
export type PathPatternOptions = {
  readonly scope: Scope
  readonly use: PathPatternUse
  /** Compares like the most lenient file system, for files that must be protected under every spelling. */
  readonly loose?: boolean
  readonly maxLength?: number
}

/**
 * Parses a path pattern: `*` stops at `/`, `**` does not, `?`, `[a-z]`, `{a,b}`, a backslash escapes a character.
 * Names that begin with a dot are like any other. Relative patterns start at every workspace root, `~/` at home; a
 * lone `*` is everything in scope. `dir/**` and `dir/` match `dir` and all below. Throws `PatternError` with the
 * position.
 *
 * @example
 * const envFiles = compilePathPattern('**\/.env*', { scope, use: 'restrict' })
 * matchesPath(envFiles, preparePath('/ship/app/.env.local')) // true
 */
export function compilePathPattern(text: string, options: PathPatternOptions): PathPattern {
  const { scope, use, loose = false, maxLength = globLimits.length } = options
  if (text === '') throw new PatternError(text, 0, 'An empty pattern')
  if (text.length > maxLength) throw new PatternError(text, maxLength, `Longer than ${maxLength} characters`)
  const comparison = loose ? 'loose' : scope.ignoreCase ? 'ignore-case' : 'exact'
  const texts = expandVariables(text, scope.variables)
  // Roots of variables can be long; the written pattern is already limited.
  const parsed = texts.flatMap((one) => parseGlob(one, maxLength + maxRootLength))
  const reach: Reach = { text, scope, use, comparison }
  const anchored = parsed.flatMap((tokens) => anchor(tokens, reach)).map((one) => finish(one, use))
  const sequences = [...anchored, ...anchored.flatMap((one) => inCopies(one, reach))]
  if (sequences.length > globLimits.alternatives * 4)
    throw new PatternError(text, 0, `More than ${globLimits.alternatives * 4} alternatives`)
  const roots = insideRoots(scope).map((root) => literalSegments(root, comparison))
  return {
    text,
    comparison,
    sequences,
    specificity: Math.min(
      ...sequences.map((sequence) => specificityOf(sequence, roots)),
      Number.MAX_SAFE_INTEGER,
    ),
    keys: sequences.map((sequence) => (loose ? [] : sequenceKeys(withoutRoot(sequence, roots)))),
  }
}

const maxRootLength = 16_384

/** A path that was split and normalised once, for matching against many patterns. */
export type PreparedPath = {
  readonly path: string
  names(comparison: NameComparison): readonly string[]
  /** Returns the keys under which matching patterns are stored. */
  keys(): readonly string[]
}

/** Prepares an absolute path; `.`, `..` and doubled slashes are resolved as text. */
export function preparePath(path: string): PreparedPath {
  const segments = normalSegments(path)
  const made: Partial<Record<NameComparison, readonly string[]>> = {}
  const names = (comparison: NameComparison): readonly string[] => {
    made[comparison] ??= segments.map((name) => comparablePathName(name, comparison))
    return made[comparison]
  }
  let keys: readonly string[] | undefined
  return {
    path: `/${segments.join('/')}`,
    names,
    keys: () => {
      // Patterns are stored in lower case where the volume ignores case, and as written where it does not.
      keys ??= pathKeys([...names('exact'), ...names('ignore-case')])
      return keys
    },
  }
}

/** Returns whether a path matches a pattern. */
export function matchesPath(pattern: PathPattern, path: PreparedPath): boolean {
  const compared = path.names(pattern.comparison)
  for (const sequence of pattern.sequences) {
    if (matchesSegments(sequence, compared, pattern.comparison)) return true
  }
  return false
}

/** Returns whether a pattern can match something below a directory. */
export function reachesBelow(pattern: PathPattern, directory: PreparedPath): boolean {
  const names = directory.names(pattern.comparison)
  return pattern.sequences.some((sequence) => {
    const deep = sequence.findIndex(({ kind }) => kind === 'deep')
    const head = deep < 0 ? sequence : sequence.slice(0, deep)
    const shared = Math.min(head.length, names.length)
    // Below the part before `**` everything may match; without `**` the directory must be above.
    if (deep < 0 && names.length >= sequence.length) return false
    return matchesSegments(head.slice(0, shared), names.slice(0, shared), pattern.comparison)
  })
}

/** Returns how specific a pattern is: its fixed characters within the workspace, plus a little without a wildcard. */
export function pathPatternSpecificity(pattern: PathPattern): number {
  return pattern.specificity
}

type Reach = {
  readonly text: string
  readonly scope: Scope
  readonly use: PathPatternUse
  readonly comparison: NameComparison
}

/** Returns the absolute sequences of one sequence of tokens. */
function anchor(tokens: readonly GlobToken[], reach: Reach): PathSegment[][] {
  const { text, scope, use, comparison } = reach
  const below = (roots: readonly string[], tail: readonly PathSegment[][]): PathSegment[][] =>
    roots.flatMap((root) => tail.map((end) => [...literalSegments(root, comparison), ...end]))

  if (tokens.length === 1 && (tokens[0]?.kind === 'star' || tokens[0]?.kind === 'deep'))
    return use === 'permit' ? below(insideRoots(scope), [[deepSegment]]) : [[deepSegment]]
  const { start, rest } = startOf(tokens)
  if (start === 'home' && scope.home === undefined && use === 'permit') return []
  const names = splitNames(rest)
  if (start === 'root') return spread(names, text, [], comparison)
  if (start === 'home' && scope.home !== undefined)
    return spread(names, text, literalSegments(scope.home, comparison), comparison)
  const workspace = workspaceRoots(scope)
  const floats = names[0]?.some(({ kind }) => kind === 'deep') ?? false
  // A restriction without a starting directory applies everywhere rather than nowhere.
  if (use === 'restrict' && (floats || workspace.length === 0))
    return spread(names, text, [deepSegment], comparison)
  return workspace.flatMap((root) => spread(names, text, literalSegments(root, comparison), comparison))
}

function startOf(tokens: readonly GlobToken[]): {
  start: 'root' | 'home' | 'workspace'
  rest: readonly GlobToken[]
} {
  const [first, second] = tokens
  if (first?.kind === 'slash') return { start: 'root', rest: tokens }
  if (first?.kind === 'char' && first.char === '~' && (second === undefined || second.kind === 'slash'))
    return { start: 'home', rest: tokens.slice(1) }
  return { start: 'workspace', rest: tokens }
}

/** Splits tokens into names; a slash at the end means everything below. */
function splitNames(tokens: readonly GlobToken[]): GlobToken[][] {
  const names: GlobToken[][] = [[]]
  for (const token of tokens) {
    if (token.kind === 'slash') names.push([])
    else names.at(-1)?.push(token)
  }
  const open = names.length > 1 && names.at(-1)?.length === 0
  const named = names.filter((name) => name.length > 0 && !isLiteral(name, '.'))
  return open ? [...named, [{ kind: 'deep' }]] : named
}

/** Appends names to a start. Resolves `..`, and a `**` that is joined to text, which expands to two sequences. */
function spread(
  names: readonly GlobToken[][],
  text: string,
  start: readonly PathSegment[],
  comparison: NameComparison,
): PathSegment[][] {
  let sequences: PathSegment[][] = [[...start]]
  for (const name of names) {
    if (isLiteral(name, '..')) {
      for (const sequence of sequences) {
        if (sequence.at(-1)?.kind === 'deep')
          throw new PatternError(text, Math.max(0, text.indexOf('..')), '".." after "**"')
        sequence.pop()
      }
      continue
    }
    const endings = unglue(name, comparison)
    sequences = sequences.flatMap((sequence) => endings.map((ending) => [...sequence, ...ending]))
    if (sequences.length > globLimits.alternatives)
      throw new PatternError(text, 0, `More than ${globLimits.alternatives} alternatives`)
  }
  return sequences
}

/** `a**b` crosses slashes: it is `a*b`, or `a*`, any number of names, and `*b`. */
function unglue(name: readonly GlobToken[], comparison: NameComparison): PathSegment[][] {
  const at = name.findIndex(({ kind }) => kind === 'deep')
  if (at < 0) return [[segmentOf(name, comparison)]]
  const before = name.slice(0, at)
  const after = name.slice(at + 1)
  const head: PathSegment[] =
    before.length === 0 ? [] : [segmentOf([...before, { kind: 'star' }], comparison)]
  if (after.length === 0) return [[...head, deepSegment]]
  const tails = unglue([{ kind: 'star' }, ...after], comparison).map((tail) => [
    ...head,
    deepSegment,
    ...tail,
  ])
  return before.length === 0
    ? tails
    : [...unglue([...before, { kind: 'star' }, ...after], comparison), ...tails]
}

/** Returns sequences for the workspace that match the same paths as this one does in the directories of `copyOf`. */
function inCopies(sequence: readonly PathSegment[], { scope, use, comparison }: Reach): PathSegment[][] {
  const { copyOf = [] } = scope
  // A sequence that starts anywhere already matches in the workspace.
  if (use === 'permit' || sequence[0]?.kind === 'deep') return []
  const [root = ''] = workspaceRoots(scope)
  return copyOf.flatMap((directory) =>
    remainders(sequence, preparePath(directory).names(comparison), comparison).map((rest) => [
      ...literalSegments(root, comparison),
      ...rest,
    ]),
  )
}

/** Returns the rest of a sequence after these names, for every way in which it can match them. */
function remainders(
  sequence: readonly PathSegment[],
  names: readonly string[],
  comparison: NameComparison,
): (readonly PathSegment[])[] {
  let places = new Set([0])
  for (const name of names) {
    const next = new Set<number>()
    for (const place of places) {
      const segment = sequence[place]
      if (segment === undefined) continue
      if (segment.kind === 'deep') {
        next.add(place)
        places.add(place + 1)
      } else if (matchesSegments([segment], [name], comparison)) next.add(place + 1)
    }
    places = next
  }
  return [...places].map((place) => sequence.slice(place))
}

function finish(sequence: readonly PathSegment[], use: PathPatternUse): PathSegment[] {
  const all = use === 'restrict' ? [...sequence, deepSegment] : sequence
  return all.filter((segment, at) => segment.kind !== 'deep' || all[at - 1]?.kind !== 'deep')
}

function specificityOf(sequence: readonly PathSegment[], roots: readonly PathSegment[][]): number {
  const own = withoutRoot(sequence, roots)
  const literals = own.reduce((sum, segment) => sum + literalLength(segment), 0)
  return literals * 2 + (own.every(({ kind }) => kind === 'literal') ? 1 : 0)
}

/** The location of the workspace must not make a pattern more specific. */
function withoutRoot(
  sequence: readonly PathSegment[],
  roots: readonly PathSegment[][],
): readonly PathSegment[] {
  const root = roots.find(
    (names) => names.length <= sequence.length && names.every((name, at) => sameLiteral(name, sequence[at])),
  )
  return root === undefined ? sequence : sequence.slice(root.length)
}

function sameLiteral(a: PathSegment, b: PathSegment | undefined): boolean {
  return a.kind === 'literal' && b?.kind === 'literal' && a.text === b.text
}

function literalSegments(path: string, comparison: NameComparison): PathSegment[] {
  return normalSegments(path).map((name) => literalSegment(name, comparison))
}

function isLiteral(name: readonly GlobToken[], text: string): boolean {
  return (
    name.length === text.length &&
    name.every((token, at) => token.kind === 'char' && comparableName(token.char, 'exact') === text[at])
  )
}
