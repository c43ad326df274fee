import type { VariableValues } from './variables.js'

/** The directories of a session: what patterns are relative to, and what `~` and the variables mean. */
export type Scope = {
  /** The roots of `{workspace}`, `{scratch}`, `{ad-hoc}` and `{user-data}`; absolute paths. */
  readonly variables: VariableValues
  /** The directory that `~` means. Absent: `~` is an ordinary name. */
  readonly home?: string
  /** The volume treats `.ENV` as `.env`; patterns do too. */
  readonly ignoreCase?: boolean
  /**
   * Directories that the workspace is a copy of. A restriction of a path in one of them applies to the same path in
   * the workspace.
   */
  readonly copyOf?: readonly string[]
}

/** Returns the directories that a bare `*` means: those of the session. */
export function insideRoots(scope: Scope): string[] {
  const { scratch = [], 'ad-hoc': open = [] } = scope.variables
  return [...workspaceRoots(scope), ...[...scratch, ...open].filter(isAbsolute)]
}

/** Returns the directories that relative patterns start from. */
export function workspaceRoots({ variables }: Scope): string[] {
  return (variables.workspace ?? []).filter(isAbsolute)
}

/** Returns the directory that relative paths start from; without a workspace this is the root of the disk. */
export function workspaceRoot(scope: Scope): string {
  return workspaceRoots(scope)[0] ?? '/'
}

/** A blank or relative root would be normalised to the root of the disk, and everything would be inside. */
function isAbsolute(path: string): boolean {
  return path.startsWith('/')
}
