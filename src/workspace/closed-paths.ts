import { basename, dirname, join, resolve } from 'node:path'
import { realPathIfReadable } from './if-readable.js'
import { isInside } from './inside.js'

/** Files and directories of the host, such as a session store or a secret, that no tool or command can open. */
export type ClosedPaths = {
  /** Real paths. */
  readonly paths: readonly string[]
  /** The paths that cannot be closed, because the workspace is one of them or is inside one. */
  readonly open: readonly string[]
  /** Returns why a real path is refused; undefined when it is not closed. */
  refusal(realPath: string): string | undefined
}

/** Resolves the paths once, so that later changes to them by a command have no effect. */
export function closePaths(given: readonly string[], roots: readonly string[]): ClosedPaths {
  const real = [...new Set(given.map(realPathOf))]
  const open = real.filter((path) => roots.some((root) => isInside(path, root)))
  const paths = real.filter((path) => !open.includes(path))
  return {
    paths,
    open,
    refusal: (realPath) => (paths.some((path) => isInside(path, realPath)) ? closedReason : undefined),
  }
}

export const closedReason =
  'sessions are stored there, or a secret of the host: tools and commands have no access to it'

/** Returns the real path of a path, whether or not it exists: links in the directories that exist are followed. */
function realPathOf(path: string): string {
  const absolute = resolve(path)
  const real = realPathIfReadable(absolute)
  if (real !== undefined) return real
  const parent = dirname(absolute)
  return parent === absolute ? absolute : join(realPathOf(parent), basename(absolute))
}
