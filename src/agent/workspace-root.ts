import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { SessionOptions } from '../session/options.js'
import { tryOr } from '../tool/errors.js'
import { isBackend, kindInAddress } from '../workspace/backend/backend.js'
import { isInside } from '../workspace/inside.js'
import { implausibleWorkspace, WorkspaceError } from './errors.js'

/** The real path of a workspace directory. Throws if it is not a directory. */
export function workspaceRoot(workspace: string, cwd = '.'): string {
  const kind = kindInAddress(workspace)
  if (kind !== undefined)
    throw new WorkspaceError(
      workspace,
      `it is not on this machine. Pass its ${kind} backend as workspaceBackend`,
    )
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

/** The workspace that the options of a session name: the real path of a directory, or the path on a backend. */
export function chosenRoot(
  backend: SessionOptions['workspaceBackend'],
  workspace: string,
  cwd: string | undefined,
): string {
  if (!isBackend(backend)) return workspaceRoot(backend?.root ?? workspace, cwd)
  return backend.localRoot === undefined ? backend.root : workspaceRoot(backend.localRoot, cwd)
}

/** System directories, which a log cannot choose as a workspace. */
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
 * Returns the workspace that a log names, for a host that names none. Tools can have written the log, so the root of
 * the file system, home and system directories and the user's Capstan directory are rejected: only the host can choose
 * them.
 */
export function workspaceInLog(sessionId: string, workspace: string, userDir: string): string {
  const root = workspaceRoot(workspace, '/')
  const isHeld = [realOf(homedir()), '/home', '/root'].some((place) => isInside(root, place))
  const isPrivate = [realOf(userDir), ...systemPlaces.map(realOf)].some((place) => isInside(place, root))
  if (isHeld || isPrivate) throw implausibleWorkspace(sessionId, root)
  return root
}

function realOf(path: string): string {
  // A path that does not exist is not a link that must be resolved.
  return tryOr(() => realpathSync(path), resolve(path))
}
