/**
 * The directories in which a command may run; `undefined` is a directory that is not known. Empty after a command
 * that does not return (`exit`).
 */
export type Places = readonly (string | undefined)[]

/** The directories of the next command, depending on whether this one succeeded. */
export type Outcome = { readonly success: Places; readonly failure: Places }

export const UNKNOWN: Places = [undefined]

export function staysAt(places: Places): Outcome {
  return { success: places, failure: places }
}

/** Returns the union of possible directories. */
export function mergePlaces(...all: readonly Places[]): Places {
  const merged = new Set(all.flat())
  // More than a few possibilities are treated as unknown.
  return merged.has(undefined) || merged.size > 4 ? UNKNOWN : [...merged]
}

/** Returns the directory, if there is only one. */
export function onlyPlace(places: Places): string | undefined {
  return places.length === 1 ? places[0] : undefined
}

/** Returns the directory after `cd directory`; bash resolves `..` as text, not by following links. */
export function enterDirectory(place: string | undefined, directory: string): string | undefined {
  if (directory.startsWith('/')) return normalize(directory)
  return place === undefined ? undefined : normalize(`${place}/${directory}`)
}

function normalize(path: string): string {
  const absolute = path.startsWith('/')
  const names: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (part !== '..' || !absolute) names.push(part)
  }
  return absolute ? `/${names.join('/')}` : names.join('/') || '.'
}
