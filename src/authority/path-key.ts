import type { PathSegment } from './path-segment.js'

/**
 * Keys for an index of path patterns: a pattern is stored under what one of its names must be, begin with or end
 * with, and a path is looked up under everything that its names are, begin with and end with.
 */

/** Returns keys that every match of a sequence has; one is enough to find it. None: the sequence fixes no name. */
export function sequenceKeys(sequence: readonly PathSegment[]): string[] {
  return sequence.flatMap((segment) => segmentKey(segment) ?? [])
}

/** Returns every key under which a path with these names can be found. */
export function pathKeys(names: readonly string[]): string[] {
  const keys = new Set<string>()
  for (const name of names) {
    keys.add(`=${name}`)
    for (let length = 1; length <= edge && length <= name.length; length++) {
      keys.add(`^${name.slice(0, length)}`)
      keys.add(`$${name.slice(-length)}`)
    }
  }
  return [...keys]
}

const edge = 3

function segmentKey(segment: PathSegment): string | undefined {
  if (segment.kind === 'deep' || segment.kind === 'glob' || segment.text === '') return undefined
  if (segment.kind === 'literal') return `=${segment.text}`
  return segment.kind === 'prefix' ? `^${segment.text.slice(0, edge)}` : `$${segment.text.slice(-edge)}`
}
