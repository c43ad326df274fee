import { realpath, stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { ShellDirectoryError } from './errors.js'

/** Returns the real directory of a command. One that the model chose is always inside the workspace (SEC-137). */
export async function directoryInside(
  roots: readonly [string, ...string[]],
  wanted: string | undefined,
): Promise<string> {
  const [root] = roots
  if (wanted === undefined) return root
  const real = await directoryAt(root, wanted, ` inside ${root}`)
  if (!roots.some((each) => holds(each, real))) {
    throw new ShellDirectoryError(
      `${wanted} leads outside the workspace ${roots.join(', ')}. Name a directory inside it.`,
    )
  }
  return real
}

/** Returns the real path of a directory that a host named, wherever it is; relative paths begin at `root`. */
export async function directoryAt(root: string, wanted: string | undefined, where = ''): Promise<string> {
  if (wanted === undefined) return root
  const path = resolve(root, wanted)
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await stat(real)).isDirectory())
    throw new ShellDirectoryError(`${path} is not a directory. Name an existing directory${where}.`)
  return real
}

function holds(root: string, real: string): boolean {
  const way = relative(root, real)
  return way !== '..' && !way.startsWith('../')
}
