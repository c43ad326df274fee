import { lstatSync, readlinkSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PathFacts } from '../../authority/path-facts.js'
import type { WorkspaceFileSystem } from './file-system.js'
import { errnoOf } from './system-error.js'

/**
 * Resolves an absolute path as the system does: name by name, with `..` applied after the preceding link. Names that do
 * not exist yet are part of the result, also at the end of a dangling link, because a command may create them. Nothing
 * is opened. With `follow: false` a link at the end of the path is not followed.
 */
export async function followLinks(path: string, follow: boolean): Promise<PathFacts> {
  // The first `lstat` may wait for the disk; the steps below then use the cache.
  await lstat(path).catch(() => undefined)
  const real = await follower(path, follow, lookAt)
  return real === undefined ? {} : { real, ...lookAtEnd(real) }
}

/** Resolves a path on the file system of a backend, like `followLinks`. */
export async function followLinksOn(
  fileSystem: WorkspaceFileSystem,
  path: string,
  follow: boolean,
): Promise<PathFacts> {
  try {
    const real = await realPathOn(fileSystem, path, follow)
    if (real === undefined) return {}
    const stat = await fileSystem.lstat(real)
    return { real, hardLinks: stat?.hardLinks, directory: stat?.kind === 'directory' }
  } catch {
    // A path that cannot be examined is judged as one that leads to an unknown target.
    return {}
  }
}

/** Returns the real path on the file system of a backend; undefined after too many links. Its errors are thrown. */
export async function realPathOn(
  fileSystem: WorkspaceFileSystem,
  path: string,
  follow: boolean,
): Promise<string | undefined> {
  if (fileSystem.realPath !== undefined && follow) {
    const real = await fileSystem.realPath(path)
    if (real !== undefined) return real
  }
  return follower(path, follow, async (at) => {
    const stat = await fileSystem.lstat(at)
    if (stat === undefined) return 'missing'
    return stat.kind === 'symlink' ? { target: await fileSystem.readLink(at) } : 'not a link'
  })
}

type Step = { readonly target: string } | 'not a link' | 'missing' | 'unknown'

async function follower(
  path: string,
  follow: boolean,
  look: (path: string) => Step | Promise<Step>,
): Promise<string | undefined> {
  let reached = '/'
  let names = path.split('/')
  for (let links = 0; names.length > 0; ) {
    const [name = '', ...rest] = names
    names = rest
    if (name === '' || name === '.') continue
    if (name === '..') {
      reached = dirname(reached)
      continue
    }
    const next = join(reached, name)
    // The target of these links depends on the process that reads them.
    if (processLink.test(next)) return undefined
    const isLast = rest.every((one) => one === '' || one === '.')
    const found = isLast && !follow ? 'not a link' : look(next)
    const step = found instanceof Promise ? await found : found
    if (step === 'unknown') return undefined
    if (step === 'missing') return join(next, ...rest)
    if (step === 'not a link') {
      reached = next
      continue
    }
    links += 1
    if (links > maxLinks) return undefined
    names = [...step.target.split('/'), ...rest]
    if (step.target.startsWith('/')) reached = '/'
  }
  return reached
}

/** The limit of Linux. */
const maxLinks = 40
const processLink =
  /^\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/(?:cwd|root|exe|fd|map_files|ns)(?:\/|$)/

function lookAt(path: string): Step {
  try {
    return { target: readlinkSync(path) }
  } catch (thrown) {
    const code = errnoOf(thrown)
    if (code === 'EINVAL') return 'not a link'
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unknown'
  }
}

function lookAtEnd(path: string): Pick<PathFacts, 'hardLinks' | 'directory'> {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return { hardLinks: stat?.isFile() ? stat.nlink : undefined, directory: stat?.isDirectory() }
  } catch {
    return {}
  }
}
