import { closeSync, constants, lstatSync, openSync, readlinkSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { ifReadable } from '../if-readable.js'
import type { FoundRepository } from './repository-scan.js'

/**
 * Renames the entry that makes a directory a repository, so that git no longer finds one there; nothing is deleted. A
 * command may still be running and replace directories by links, so every access goes through descriptors of checked
 * directories. Returns the new name, or undefined when there was nothing left to rename.
 */
export function quarantine({ kind, directory }: FoundRepository): string | undefined {
  if (kind === 'bare') return within(directory, (place) => moveAway(place, 'HEAD'))
  // Without its HEAD, the renamed directory does not look like a bare repository either.
  within(join(directory, '.git'), (place) => moveAway(place, 'HEAD'))
  return within(directory, (place) => moveAway(place, '.git'))
}

function within<Result>(directory: string, act: (place: string) => Result): Result | undefined {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
  const descriptor = ifReadable(() => openSync(directory, flags))
  if (descriptor === undefined) return undefined
  try {
    const place = `/proc/self/fd/${descriptor}`
    return readlinkSync(place) === directory ? act(place) : undefined
  } finally {
    closeSync(descriptor)
  }
}

function moveAway(place: string, name: string): string | undefined {
  for (let count = 1; ; count++) {
    const wanted = `${name}.refused${count === 1 ? '' : `-${count}`}`
    if (lstatSync(`${place}/${wanted}`, { throwIfNoEntry: false }) !== undefined) continue
    try {
      renameSync(`${place}/${name}`, `${place}/${wanted}`)
      return wanted
    } catch {
      // It was removed in the meantime.
      return undefined
    }
  }
}
