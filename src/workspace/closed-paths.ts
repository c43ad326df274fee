import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isInside } from './inside.js'

/** Files and directories of the host, such as a session store or a secret, that no tool and no command may open. */
export type ClosedPaths = {
  /** Real paths. */
  readonly paths: readonly string[]
  /** Those that cannot be closed, because the workspace itself is one of them or lies in one. */
  readonly open: readonly string[]
  /** Why a real path is refused; undefined when it is not closed. */
  refusal(realPath: string): string | undefined
}

/** Resolves the paths once: what a command makes of them later changes nothing. */
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

/** Where a path leads, or would if it existed: links of the directories that exist are followed. */
function realPathOf(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    const parent = dirname(absolute)
    return parent === absolute ? absolute : join(realPathOf(parent), basename(absolute))
  }
}
