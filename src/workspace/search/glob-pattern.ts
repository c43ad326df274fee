import { SearchError } from './errors.js'
import { endOfClass, matchSegment, parseSegment, type Segment } from './glob-segment.js'

export type Glob = {
  /** Takes a path with forward slashes, relative to where the pattern is anchored. */
  readonly matches: (path: string) => boolean
  /** Patterns for file names such that every match has a name that fits one; undefined when no such list is known. */
  readonly names: readonly string[] | undefined
}

type PathPattern = readonly (Segment | '**')[]

const maxLength = 1_024
const maxAlternatives = 64

/**
 * A pattern as in .gitignore: without a slash it fits a name at any depth, with one it is anchored; `*` and `?` stop at a slash, `**`
 * does not; `[a-z]`, `[!a]`, `{a,b}` and `\` work as usual; dot files are files like others. A leading `!` turns it around.
 *
 * Matching takes time proportional to pattern times path, whatever the pattern: a model may write it.
 */
export function compileGlob(pattern: string): Glob {
  if (!pattern.startsWith('!')) return compilePositive(pattern)
  const { matches } = compilePositive(pattern.slice(1))
  return { matches: (path) => !matches(path), names: undefined }
}

/** The same where a leading `!` means something else, or itself. */
export function compilePositive(pattern: string): Glob {
  check(pattern)
  const patterns = expandBraces(pattern).map(parsePath)
  return { matches: matcherOf(patterns), names: namesOf(patterns) }
}

function check(pattern: string): void {
  const problem =
    pattern === ''
      ? 'it is empty'
      : pattern.length > maxLength
        ? `it is longer than ${maxLength} characters`
        : pattern.includes('\0')
          ? 'it contains a NUL character'
          : pattern.split('/').includes('..')
            ? 'it contains "..", which could leave the directory'
            : undefined
  if (problem !== undefined) {
    const shown = JSON.stringify(pattern.slice(0, 100))
    throw new SearchError('search_pattern_invalid', `The glob ${shown} cannot be used: ${problem}.`)
  }
}

function parsePath(pattern: string): PathPattern {
  const parts = pattern.split('/')
  const anchored = parts.length > 1
  if (parts[0] === '') parts.shift()
  if (parts.at(-1) === '') parts[parts.length - 1] = '**'
  const kept = parts.filter((part) => part !== '' && (part !== '.' || !anchored))
  const segments = kept.map((part) => (part === '**' ? ('**' as const) : parseSegment(part)))
  return anchored ? segments : ['**', ...segments]
}

function matcherOf(patterns: readonly PathPattern[]): (path: string) => boolean {
  if (patterns.some((pattern) => pattern.length > 0 && pattern.every((part) => part === '**')))
    return () => true
  const onlyNames = patterns.every(
    (pattern) => pattern.length === 2 && pattern[0] === '**' && pattern[1] !== '**',
  )
  if (onlyNames) {
    const segments = patterns.map((pattern) => pattern[1] as Segment)
    return (path) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return segments.some((segment) => matchSegment(segment, name))
    }
  }
  return (path) => {
    const parts = path.split('/')
    return patterns.some((pattern) => matchPath(pattern, parts))
  }
}

/** Greedy with one point of return: only the last `**` can ever need to take more. */
function matchPath(pattern: PathPattern, parts: readonly string[]): boolean {
  let at = 0
  let part = 0
  let starAt = -1
  let starPart = 0
  while (part < parts.length) {
    const wanted = pattern[at]
    if (wanted === '**') {
      // At the end it stands for what is inside, so it takes at least one part, and then any number.
      if (at === pattern.length - 1) return true
      starAt = at
      starPart = part
      at += 1
    } else if (wanted !== undefined && matchSegment(wanted, parts[part] ?? '')) {
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
    if (last === undefined || last === '**' || last.plain === undefined) return undefined
    names.push(last.plain)
  }
  return names
}

/** `a{b,c{d,e}}` in all its readings. An unclosed brace is a brace. */
function expandBraces(pattern: string): string[] {
  const done: string[] = []
  const open = [pattern]
  while (open.length > 0) {
    const next = open.shift() ?? ''
    const group = findGroup(next)
    if (group === undefined) done.push(next)
    else for (const choice of group.choices) open.push(group.before + choice + group.after)
    if (open.length + done.length > maxAlternatives) {
      throw new SearchError(
        'search_pattern_invalid',
        `The glob ${JSON.stringify(pattern.slice(0, 100))} has more than ${maxAlternatives} alternatives.`,
      )
    }
  }
  return done
}

function findGroup(
  pattern: string,
): { readonly before: string; readonly choices: readonly string[]; readonly after: string } | undefined {
  let depth = 0
  let start = -1
  let choiceStart = 0
  let choices: string[] = []
  for (let index = 0; index < pattern.length; index += 1) {
    const char = pattern[index]
    if (char === '\\') index += 1
    else if (char === '[') index = endOfClass(pattern, index) ?? index
    else if (char === '{') {
      if (depth === 0) {
        start = index
        choiceStart = index + 1
        choices = []
      }
      depth += 1
    } else if (depth > 0 && (char === '}' || char === ',')) {
      if (char === '}') depth -= 1
      if (depth === 0 || (depth === 1 && char === ',')) {
        choices.push(pattern.slice(choiceStart, index))
        choiceStart = index + 1
      }
      if (depth === 0) return { before: pattern.slice(0, start), choices, after: pattern.slice(index + 1) }
    }
  }
  return undefined
}
