import { realpath, stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { ShellDirectoryError } from './errors.js'

/** The real directory of a command. One that the model chose is never more than a place inside the workspace (SEC-137). */
export async function directoryInside(root: string, wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return root
  const path = resolve(root, wanted)
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await stat(real)).isDirectory()) {
    throw new ShellDirectoryError(`${path} is not a directory. Name an existing directory inside ${root}.`)
  }
  const way = relative(root, real)
  if (way === '..' || way.startsWith('../')) {
    throw new ShellDirectoryError(
      `${wanted} leads outside the workspace ${root}. Name a directory inside it.`,
    )
  }
  return real
}
