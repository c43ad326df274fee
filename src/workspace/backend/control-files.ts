import { protectedNames } from '../sandbox/protected-paths.js'
import { isDirectory } from './entry-signature.js'

/**
 * A second layer after the sandbox: why a control file is not taken back. Git data is, and a repository that the
 * workspace did not have: the sandbox let the command write it, and examined its configuration.
 */
export function controlOf(path: string, ours: string, isOld: boolean): string | undefined {
  const names = path.toLowerCase().split('/')
  if (protectedNames.some(({ name }) => name !== '.git' && name === names[0])) return control
  const at = names.indexOf('.git')
  if (at === -1) return undefined
  // Another spelling is the same directory on a disk that ignores case.
  if (path.split('/')[at] !== '.git') return control
  if (!isOld) return undefined
  const inside = names.slice(at + 1).join('/')
  // A file names the directory that git takes its configuration from.
  return gitControl.test(inside) || (inside === '' && !isDirectory(ours)) ? control : undefined
}

const control = 'it is a control file, which programs outside the sandbox use'
const gitControl =
  /^(?:config|config\.worktree|commondir|gitdir|hooks|info|objects\/info\/alternates)(?:\/|$)/
