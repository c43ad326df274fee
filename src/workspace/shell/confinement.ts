import type { ChildEnvironment } from './child-env.js'

/** How a command is held: alone with the user's rights, or inside a sandbox. */
export interface Confinement {
  /** What confines it, for the outcome: `none`, `bubblewrap`. */
  readonly name: string
  confine(command: ConfinedCommand): Promise<ConfinedLaunch>
}

export type ConfinedCommand = {
  readonly argv: readonly string[]
  /** A real path inside the workspace. */
  readonly cwd: string
  /** A new private directory, for this command's home. */
  readonly home: string
  /** The session's own directory for temporary files. */
  readonly tmp: string
  readonly marker: string
}

export type ConfinedLaunch = {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: ChildEnvironment
  /** The process that is started keeps a pid namespace for the rest. */
  readonly namespaced: boolean
  /** To be called when the command and all it started are gone; says what was refused. */
  finish(outcome: { readonly exitCode: number | null; readonly output: string }): Promise<string[]>
}
