import { lstatSync, readlinkSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PathFacts } from '../../authority/path-facts.js'
import type { WorkspaceFileSystem } from './file-system.js'
import { errnoOf } from './system-error.js'

/**
 * Where an absolute path leads, resolved the way the system resolves it: name by name, `..` after the link before it.
 * What does not exist yet is part of the answer, also at the end of a link that leads nowhere, because a command may
 * create it. Nothing is opened. With `follow: false` a link at the end of the path is not followed.
 */
export async function followLinks(path: string, follow: boolean): Promise<PathFacts> {
  // The first look may wait for a disk; the steps below find what it brought into memory.
  await lstat(path).catch(() => undefined)
  const real = await follower(path, follow, lookAt)
  return real === undefined ? {} : { real, ...lookAtEnd(real) }
}

/** The same on the file system of a backend. */
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
    // What cannot be looked at is judged as a path that leads to an unknown place.
    return {}
  }
}

/** Where a path leads on the file system of a backend; undefined after too many links. Throws its errors. */
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
    // What these lead to depends on the process that looks.
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

/** As many as Linux follows. */
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
