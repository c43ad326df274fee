import { realpath, stat } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { ShellDirectoryError } from './errors.js'

/** The real directory of a command. One that the model chose is never more than a place inside the workspace (SEC-137). */
export async function directoryInside(
  roots: readonly [string, ...string[]],
  wanted: string | undefined,
): Promise<string> {
  const [root] = roots
  if (wanted === undefined) return root
  const path = resolve(root, wanted)
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined || !(await stat(real)).isDirectory()) {
    throw new ShellDirectoryError(`${path} is not a directory. Name an existing directory inside ${root}.`)
  }
  if (!roots.some((each) => holds(each, real))) {
    throw new ShellDirectoryError(
      `${wanted} leads outside the workspace ${roots.join(', ')}. Name a directory inside it.`,
    )
  }
  return real
}

function holds(root: string, real: string): boolean {
  const way = relative(root, real)
  return way !== '..' && !way.startsWith('../')
}
