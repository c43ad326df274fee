import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { isInside } from '../workspace/inside.js'
import { implausibleWorkspace, WorkspaceError } from './errors.js'

/** The real path of the directory that a session is to work in. */
export function workspaceRoot(workspace: string, cwd = '.'): string {
  const path = resolve(cwd, workspace)
  let real: string
  try {
    real = realpathSync(path)
  } catch (error) {
    throw new WorkspaceError(path, 'it does not exist or cannot be reached', error)
  }
  if (!statSync(real).isDirectory()) throw new WorkspaceError(path, 'it is not a directory')
  return real
}

/** Directories of the system: no session is at work in one of them because a log says so. */
const systemPlaces = [
  '/etc',
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/boot',
  '/dev',
  '/proc',
  '/sys',
  '/run',
]

/**
 * The workspace that a log names, for a host that names none. Tools may have written the log: the whole machine, a home directory, what
 * belongs to the system and the user's own directory are refused, and the host has to name them itself.
 */
export function workspaceInLog(sessionId: string, workspace: string, userDir: string): string {
  const root = workspaceRoot(workspace, '/')
  const isHeld = [realOf(homedir()), '/home', '/root'].some((place) => isInside(root, place))
  const isPrivate = [realOf(userDir), ...systemPlaces.map(realOf)].some((place) => isInside(place, root))
  if (isHeld || isPrivate) throw implausibleWorkspace(sessionId, root)
  return root
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // Not there: nothing leads to it.
    return resolve(path)
  }
}
