import { lstat } from 'node:fs/promises'
import type { Access } from './access.js'
import type { ContainedPath } from './contained-path.js'
import { PathUnstableError } from './errors.js'
import { isFree, withKeyedLock } from './keyed-lock.js'
import { type Place, type Want, withPlace } from './open-contained.js'
import { foldCase } from './path-style.js'
import { tolerate } from './system-error.js'

export type Step = readonly [ContainedPath, Want]

/**
 * Works at places that nobody else in this process changes meanwhile. The lock is on the real path, which all spellings of a path
 * share. It is known only after looking: a lock that is free is taken on the spot; one that is not is waited for with nothing
 * open, and then the path is looked at again, for it may lead elsewhere by now.
 */
export async function changing<Steps extends readonly Step[], T>(
  access: Access,
  steps: readonly [...Steps],
  use: (places: { [K in keyof Steps]: Place }) => Promise<T>,
): Promise<T> {
  const useAll = (places: readonly Place[]): Promise<T> => use(places as { [K in keyof Steps]: Place })
  let held: readonly string[] = []
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const outcome = await withKeyedLock(held, () =>
      withPlaces(access, steps, [], async (places): Promise<Outcome<T>> => {
        const keys = places.map((place) => foldCase(place.realPath))
        if (attempt > 0 && keys.every((key, index) => key === held[index]))
          return { done: await useAll(places) }
        return keys.every(isFree)
          ? withKeyedLock(keys, () => useFresh(steps, places, keys, useAll))
          : { waitFor: keys }
      }),
    )
    if ('done' in outcome) return outcome.done
    held = outcome.waitFor
  }
  throw new PathUnstableError(steps[0]?.[0].asWritten ?? '')
}

type Outcome<T> = { readonly done: T } | { readonly waitFor: readonly string[] }

const maxAttempts = 10

function withPlaces<T>(
  access: Access,
  steps: readonly Step[],
  places: readonly Place[],
  use: (places: readonly Place[]) => Promise<T>,
): Promise<T> {
  const [next, ...rest] = steps
  if (next === undefined) return use(places)
  return withPlace(access, next[0], next[1], (place) => withPlaces(access, rest, [...places, place], use))
}

/** What was there was seen before the lock was ours; somebody may have come and gone in between. */
async function useFresh<T>(
  steps: readonly Step[],
  places: readonly Place[],
  keys: readonly string[],
  use: (places: readonly Place[]) => Promise<T>,
): Promise<Outcome<T>> {
  const fresh = await Promise.all(
    places.map(async (place) => {
      const stat = await lstat(place.directory.at(place.name)).catch(tolerate(['ENOENT'], undefined))
      return { ...place, stat }
    }),
  )
  const turned = fresh.some(({ stat }, index) => stat?.isSymbolicLink() && steps[index]?.[1].follow)
  return turned ? { waitFor: keys } : { done: await use(fresh) }
}
