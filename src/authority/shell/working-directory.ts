/**
 * Where a command may run: every directory that is possible at that point, `undefined` standing for one that cannot be
 * known. Empty after a command that does not come back (`exit`).
 */
export type Places = readonly (string | undefined)[]

/** Where the next command runs, by whether this one succeeded. */
export type Outcome = { readonly success: Places; readonly failure: Places }

export const UNKNOWN: Places = [undefined]

export function staysAt(places: Places): Outcome {
  return { success: places, failure: places }
}

/** Either of two. */
export function mergePlaces(...all: readonly Places[]): Places {
  const merged = new Set(all.flat())
  // More than a handful of possibilities is as good as not knowing.
  return merged.has(undefined) || merged.size > 4 ? UNKNOWN : [...merged]
}

/** The one place, when there is only one. */
export function onlyPlace(places: Places): string | undefined {
  return places.length === 1 ? places[0] : undefined
}

/** What `cd directory` makes of a place; bash resolves `..` by text, not by following links. */
export function enterDirectory(place: string | undefined, directory: string): string | undefined {
  if (directory.startsWith('/')) return normalize(directory)
  return place === undefined ? undefined : normalize(`${place}/${directory}`)
}

function normalize(path: string): string {
  const absolute = path.startsWith('/')
  const kept: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (part !== '..' || !absolute) kept.push(part)
  }
  return absolute ? `/${kept.join('/')}` : kept.join('/') || '.'
}
