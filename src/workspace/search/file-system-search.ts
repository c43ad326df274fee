import { dirname, resolve } from 'node:path'
import type { RuntimeSearch } from '../../tool/runtime.js'
import type { WorkspaceFileSystem } from '../files/file-system.js'
import { realPathOn } from '../files/follow-links.js'
import { isInside } from '../inside.js'
import { SearchError } from './errors.js'
import { createSearchOver, type FallbackSearchOptions, type SearchSource } from './fallback-search.js'
import { createIgnoreTree, parseIgnoreRules, type Rule } from './gitignore.js'
import type { NewestTarget } from './newest-first.js'

/** `root` is a real path on the file system. */
export type FileSystemSearchOptions = FallbackSearchOptions & { readonly fileSystem: WorkspaceFileSystem }

/**
 * Searches the file system of a backend, with the results of the local search, but from files that are read one by one.
 * Ignore rules apply from the root downwards.
 */
export function createFileSystemSearch(options: FileSystemSearchOptions): RuntimeSearch {
  return createSearchOver((path) => openSource(options, path), options.permit, options.deadlineMs)
}

async function openSource(options: FileSystemSearchOptions, path = '.'): Promise<SearchSource> {
  const { fileSystem } = options
  const target = await findTarget(options, path)
  return {
    target,
    exact: false,
    files: (onUnreadable) => walk(fileSystem, target, onUnreadable),
    content: async (file) => {
      const real = `${target.root}/${file}`
      try {
        const stat = await fileSystem.lstat(real)
        if (stat?.kind !== 'file' || stat.size > maxFileBytes) return undefined
        return await fileSystem.read(real, 0, maxFileBytes)
      } catch {
        // The outcome reports that a file could not be read.
        return undefined
      }
    },
  }
}

/** Larger files are not searched, because their bytes would have to be in memory here. */
const maxFileBytes = 32 * 1024 * 1024

async function findTarget(
  { fileSystem, root, permit }: FileSystemSearchOptions,
  path: string,
): Promise<NewestTarget> {
  if (path.includes('\0') || path.length > 4_096) throw refused(path, 'is not a path')
  const asked = resolve(root, path)
  // The same error whether or not the path exists, so that a search does not reveal what exists elsewhere.
  if (!isInside(root, asked)) throw refused(path, 'is outside the workspace')
  const real = await realPathOn(fileSystem, asked, true).catch(() => undefined)
  if (real === undefined) throw missing(path)
  if (!isInside(root, real)) throw refused(path, 'is outside the workspace')
  const stat = await fileSystem.lstat(real)
  if (stat === undefined) throw missing(path)
  if (stat.kind !== 'file' && stat.kind !== 'directory')
    throw refused(path, 'is neither a file nor a directory')
  const refusal = stat.kind === 'file' ? permit(real) : undefined
  if (refusal !== undefined) throw new SearchError('search_path_refused', refusal)
  const directory = stat.kind === 'file' ? dirname(real) : real
  const below = directory.slice(root.length + 1)
  return {
    root,
    directory,
    prefix: below === '' ? '' : `${below}/`,
    fileName: stat.kind === 'file' ? real.slice(directory.length + 1) : undefined,
    repository: (await fileSystem.lstat(`${root}/.git`)) === undefined ? undefined : root,
    method: 'compare',
    timesIn: (from, names) =>
      Promise.all(
        names.map(async (name) => {
          const found = await fileSystem.lstat(`${root}/${from}${name}`).catch(() => undefined)
          return found?.mtimeMs ?? 0
        }),
      ),
  }
}

/** Yields the files that the local search would search, in batches. */
async function* walk(
  fileSystem: WorkspaceFileSystem,
  target: NewestTarget,
  onUnreadable: () => void,
): AsyncGenerator<readonly string[]> {
  const rules = new Map<string, readonly Rule[]>()
  const repositories = new Set<string>()
  const ignored = createIgnoreTree(
    target.root,
    { repository: target.repository !== undefined },
    {
      rulesIn: (directory) => rules.get(directory) ?? [],
      isRepository: (directory) => repositories.has(directory),
    },
  )
  const learn = async (directory: string, names: ReadonlySet<string>): Promise<void> => {
    if (names.has('.git')) repositories.add(directory)
    if (names.has('.gitignore')) rules.set(directory, await rulesOf(fileSystem, `${directory}/.gitignore`))
  }
  for (let above = target.directory; above !== target.root; ) {
    above = dirname(above)
    const isRepository = (await fileSystem.lstat(`${above}/.git`)) !== undefined
    await learn(above, new Set(isRepository ? ['.gitignore', '.git'] : ['.gitignore']))
  }
  const open = [{ directory: target.directory, prefix: target.prefix }]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const entries = await fileSystem.list(at.directory, maxEntries).catch(() => undefined)
    if (entries === undefined) {
      onUnreadable()
      continue
    }
    await learn(at.directory, new Set(entries.map(({ name }) => name)))
    const batch: string[] = []
    for (const { name, kind } of entries) {
      if (name === '.git' || name.includes('\uFFFD') || (kind !== 'file' && kind !== 'directory')) continue
      if (ignored.ignores(at.directory, name, kind === 'directory')) continue
      if (kind === 'file') batch.push(`${at.prefix}${name}`)
      else open.push({ directory: `${at.directory}/${name}`, prefix: `${at.prefix}${name}/` })
    }
    for (let from = 0; from < batch.length; from += batchSize) yield batch.slice(from, from + batchSize)
  }
}

const maxEntries = 100_000
const batchSize = 32

async function rulesOf(fileSystem: WorkspaceFileSystem, path: string): Promise<readonly Rule[]> {
  try {
    const stat = await fileSystem.lstat(path)
    if (stat?.kind !== 'file' || stat.size >= 1_000_000) return []
    return parseIgnoreRules(new TextDecoder().decode(await fileSystem.read(path, 0, stat.size)))
  } catch {
    // Ignore files that cannot be read have no effect, as on a disk.
    return []
  }
}

function refused(path: string, words: string): SearchError {
  return new SearchError('search_path_refused', `${JSON.stringify(path.slice(0, 200))} ${words}.`)
}

function missing(path: string): SearchError {
  const words = 'does not exist or cannot be read'
  return new SearchError('search_path_missing', `${JSON.stringify(path.slice(0, 200))} ${words}.`)
}
