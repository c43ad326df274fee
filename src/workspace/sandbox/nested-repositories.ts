import { type Dir, lstatSync, opendirSync } from 'node:fs'
import { join } from 'node:path'

export type WalkLimits = {
  readonly entries: number
  readonly levels: number
  readonly ms: number
  /** How many are held. Each is some mounts for every command. */
  readonly repositories: number
}

const usual: WalkLimits = { entries: 20_000, levels: 4, ms: 50, repositories: 64 }

/** The part of its time that a shell may spend on looking. */
const share = 1 / 20

/**
 * Finds the directories below a workspace that have a `.git` of their own, the nearest first. Looked for again as commands come,
 * but never for more than a twentieth of the time: what appears in between is found a second later at most. What was found once
 * stays known while it is there, so nothing made later can push it over a limit.
 */
export function nestedRepositories(root: string, limits: WalkLimits = usual): () => string[] {
  let known: string[] = []
  let lookAgainAt = Number.NEGATIVE_INFINITY
  return () => {
    known = known.filter(hasGit)
    const startedAt = performance.now()
    if (startedAt < lookAgainAt) return known
    known = [...new Set([...known, ...walk(root, limits)])].slice(0, limits.repositories)
    const endedAt = performance.now()
    lookAgainAt = endedAt + (endedAt - startedAt) / share
    return known
  }
}

function walk(root: string, limits: WalkLimits): string[] {
  const deadline = performance.now() + limits.ms
  const found: string[] = []
  let entries = 0
  let level = [root]
  for (let depth = 0; depth <= limits.levels && level.length > 0; depth++) {
    const next: string[] = []
    for (const directory of level) {
      const listing = open(directory)
      if (listing === undefined) continue
      try {
        for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
          if (++entries > limits.entries || performance.now() > deadline) return found
          if (entry.name === '.git') {
            if (depth > 0) found.push(directory)
          } else if (entry.isDirectory() && entry.name !== 'node_modules') {
            next.push(join(directory, entry.name))
          }
        }
      } finally {
        listing.closeSync()
      }
    }
    level = next
  }
  return found
}

function open(directory: string): Dir | undefined {
  try {
    return opendirSync(directory, { bufferSize: 256 })
  } catch {
    // Gone meanwhile, or not readable for this user.
    return undefined
  }
}

function hasGit(directory: string): boolean {
  return lstatSync(join(directory, '.git'), { throwIfNoEntry: false }) !== undefined
}
