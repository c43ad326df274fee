import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { WorkspaceError } from './errors.js'

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
