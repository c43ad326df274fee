import { lstatSync, readlinkSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PathFacts } from '../../authority/path-facts.js'
import { errnoOf } from './system-error.js'

/**
 * Where an absolute path leads, resolved the way the system resolves it: name by name, `..` after the link before it.
 * What does not exist yet is part of the answer, also at the end of a link that leads nowhere, because a command may
 * create it. Nothing is opened. With `follow: false` a link at the end of the path is not followed.
 */
export async function followLinks(path: string, follow: boolean): Promise<PathFacts> {
  // The first look may wait for a disk; the steps below find what it brought into memory.
  await lstat(path).catch(() => undefined)
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
    if (processLink.test(next)) return {}
    const isLast = rest.every((one) => one === '' || one === '.')
    const step = isLast && !follow ? 'not a link' : lookAt(next)
    if (step === 'unknown') return {}
    if (step === 'missing') return { real: join(next, ...rest) }
    if (step === 'not a link') {
      reached = next
      continue
    }
    links += 1
    if (links > maxLinks) return {}
    names = [...step.target.split('/'), ...rest]
    if (step.target.startsWith('/')) reached = '/'
  }
  return { real: reached, ...lookAtEnd(reached) }
}

/** As many as Linux follows. */
const maxLinks = 40
const processLink =
  /^\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/(?:cwd|root|exe|fd|map_files|ns)(?:\/|$)/

function lookAt(path: string): { readonly target: string } | 'not a link' | 'missing' | 'unknown' {
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
