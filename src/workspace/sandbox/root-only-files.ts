import { execFile } from 'node:child_process'
import { type Dirent, lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
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

/**
 * Searches with `find`, which takes a third of the processor time and does not block the host. Without it, or when it
 * is not done in time, this process searches, down to a limit.
 */
export async function searchRootOnly(
  directories: readonly string[],
  { path = '/usr/bin:/bin', timeoutMs = 5_000 } = {},
): Promise<readonly string[]> {
  const closed = (await searchWithFind(directories, { path, timeoutMs })) ?? (await searchHere(directories))
  const counts = new Map<string, number>()
  for (const path of closed.files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  const isFull = (directory: string): boolean =>
    (counts.get(directory) ?? 0) > maxFilesOfDirectory && !directories.includes(directory)
  return [
    ...closed.directories,
    ...[...counts.keys()].filter(isFull),
    ...closed.files.filter((path) => !isFull(dirname(path))),
  ]
}

/** Directories that only root can list, and files that only root can read. */
type Closed = { readonly directories: readonly string[]; readonly files: readonly string[] }

function searchWithFind(
  directories: readonly string[],
  { path, timeoutMs }: { readonly path: string; readonly timeoutMs: number },
): Promise<Closed | undefined> {
  const args = ['-H', ...directories, '-mindepth', '1', '-maxdepth', String(maxDepth), ...conditions]
  const options = { cwd: '/', env: { PATH: path, LC_ALL: 'C' }, maxBuffer: 2 ** 24 }
  return new Promise((resolve) => {
    let isLate = false
    const child = execFile('find', args, options, (error, stdout) => {
      clearTimeout(timer)
      if (error !== null || isLate) return resolve(undefined)
      const closed = { directories: [] as string[], files: [] as string[] }
      for (const path of stdout.split('\0').slice(0, -1)) {
        const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
        closed[isFile ? 'files' : 'directories'].push(path)
      }
      resolve(closed)
    })
    // With the option of `execFile`, a program that ends at that moment seems to have succeeded, without its output.
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, timeoutMs)
  })
}

/** The same as in `searchHere`: of root, and a directory that others cannot enter and list, or a file with content. */
const conditions = [
  ...['!', '-uid', '0', '-prune', '-o'],
  ...['-type', 'd', '!', '-perm', '-005', '-prune', '-print0', '-o'],
  ...['-type', 'f', '!', '-perm', '-004', '-size', '+0c', '-print0'],
]

/** Searches level by level. Directories beyond the limits are not searched. */
async function searchHere(roots: readonly string[]): Promise<Closed> {
  const directories: string[] = []
  const files: string[] = []
  let entries = 0
  let level = roots
  for (let depth = 0; depth < maxDepth && level.length > 0; depth++) {
    const next: string[] = []
    for (const directory of level) {
      const list = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => [])
      entries += list.length
      if (entries > maxEntries) return { directories, files }
      for (const entry of list) {
        if (!entry.isFile() && !entry.isDirectory()) continue
        const path = `${directory}/${entry.name}`
        const stat = lstatSync(path, { throwIfNoEntry: false })
        if (stat === undefined || stat.uid !== 0) continue
        const isOpen = (stat.mode & 0o005) === 0o005
        if (stat.isDirectory()) (isOpen ? next : directories).push(path)
        // An empty file, such as a lock, contains nothing to hide.
        else if (stat.isFile() && stat.size > 0 && (stat.mode & 0o004) === 0) files.push(path)
      }
    }
    level = next
  }
  return { directories, files }
}
