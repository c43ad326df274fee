import { type Dirent, lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { isInside } from '../inside.js'

/** The directories of the system and its services. */
const places = ['/etc', '/var', '/boot']
const maxDepth = 4
const maxEntries = 50_000
/** A directory with more such files is hidden as a whole: every hidden path makes the start of a command slower. */
const maxFilesOfDirectory = 16

let found: Promise<readonly string[]> | undefined

/**
 * Returns the files that only root can read in the directories of the system: old passwords, sign-in logs, answers to
 * installers, keys of services. A host that runs as root owns these files, also in a sandbox, where its commands have
 * no other privileges of root. Returns nothing inside `shown`, and nothing for other users. Searches once.
 */
export async function rootOnlyFiles(shown: readonly string[]): Promise<readonly string[]> {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return []
  found ??= searchRootOnly(places)
  const all = await found
  return all.filter((path) => !shown.some((directory) => isInside(directory, path)))
}

/** Searches level by level. Directories beyond the limits are not searched. */
export async function searchRootOnly(directories: readonly string[]): Promise<readonly string[]> {
  const closed: string[] = []
  let entries = 0
  let level = directories
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
    const next: string[] = []
    for (const directory of level) {
      const list = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => [])
      entries += list.length
      if (entries > maxEntries) return closed
      const files: string[] = []
      for (const entry of list) {
        if (!entry.isFile() && !entry.isDirectory()) continue
        const path = `${directory}/${entry.name}`
        const stat = lstatSync(path, { throwIfNoEntry: false })
        if (stat === undefined || stat.uid !== 0) continue
        const isOpen = (stat.mode & 0o005) === 0o005
        if (stat.isDirectory()) (isOpen ? next : closed).push(path)
        // An empty file, such as a lock, contains nothing to hide.
        else if (stat.isFile() && stat.size > 0 && (stat.mode & 0o004) === 0) files.push(path)
      }
      const isSmall = files.length <= maxFilesOfDirectory || directories.includes(directory)
      closed.push(...(isSmall ? files : [directory]))
    }
    level = next
  }
  return closed
}
