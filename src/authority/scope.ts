import type { VariableValues } from './variables.js'

/** Where a session lives: what patterns are relative to, and what `~` and the variables stand for. */
export type Scope = {
  /** The roots behind `{workspace}`, `{scratch}`, `{ad-hoc}` and `{user-data}`; absolute paths. */
  readonly variables: VariableValues
  /** What `~` stands for. Left out: `~` is an ordinary name. */
  readonly home?: string
  /** The volume takes `.ENV` for `.env`: patterns do too. */
  readonly ignoreCase?: boolean
}

/** The directories a bare `*` means: what the session may look at without leaving its place. */
export function insideRoots(scope: Scope): string[] {
  const { scratch = [], 'ad-hoc': open = [] } = scope.variables
  return [...workspaceRoots(scope), ...[...scratch, ...open].filter(isAbsolute)]
}

/** Where relative patterns start. */
export function workspaceRoots({ variables }: Scope): string[] {
  return (variables.workspace ?? []).filter(isAbsolute)
}

/** Where relative paths start; a session without a workspace has only the root to start from. */
export function workspaceRoot(scope: Scope): string {
  return workspaceRoots(scope)[0] ?? '/'
}

/** A blank or relative root would be normalised to the root of the disk, and everything would lie inside. */
function isAbsolute(path: string): boolean {
  return path.startsWith('/')
}
