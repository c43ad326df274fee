import { protectedNames } from '../sandbox/protected-paths.js'
import { isDirectory } from './entry-signature.js'

/**
 * A second layer after the sandbox: returns why a control file is not copied back. Git data is copied back, and so is a
 * repository that the workspace did not have: the sandbox allowed the command to write it and examined its
 * configuration.
 */
export function controlOf(path: string, ours: string, isOld: boolean): string | undefined {
  const names = path.toLowerCase().split('/')
  if (protectedNames.some(({ name }) => name !== '.git' && name === names[0])) return control
  const at = names.indexOf('.git')
  if (at === -1) return undefined
  // On a disk that ignores case, another spelling is the same directory.
  if (path.split('/')[at] !== '.git') return control
  if (!isOld) return undefined
  const inside = names.slice(at + 1).join('/')
  // A `.git` file names the directory from which git reads its configuration.
  return gitControl.test(inside) || (inside === '' && !isDirectory(ours)) ? control : undefined
}

const control = 'it is a control file, which programs outside the sandbox use'
const gitControl =
  /^(?:config|config\.worktree|commondir|gitdir|hooks|info|objects\/info\/alternates)(?:\/|$)/
