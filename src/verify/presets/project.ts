import type { VerificationCommand } from '../../store/verification.js'

/** Synchronous read access to a workspace. Paths are relative to its root; names of directories end with a slash. */
export interface Listing {
  names(path: string): readonly string[]
  text(path: string, maxBytes: number): string | undefined
}

/** Checks that a project defines, such as its scripts. */
export type VerificationPreset = {
  readonly id: string
  readonly name: string
  readonly description: string
  /** The directory of the project; absent: the workspace itself. */
  readonly cwd?: string
  readonly commands: readonly PresetCommand[]
}

/** A command of a preset. */
export type PresetCommand = Required<Omit<VerificationCommand, 'cwd'>> &
  Pick<VerificationCommand, 'cwd'> & {
    /** The definition of the command in the project, such as a script: the model that is verified can change it. */
    readonly definition?: string
  }

/** One directory that is searched for a project. */
export type Place = {
  readonly names: ReadonlySet<string>
  /** The text of a file in the directory. */
  text(name: string): string | undefined
  /** The names in a subdirectory. */
  list(name: string): readonly string[]
}

/** A language or tool by which projects are recognised. */
export type Kind = {
  readonly id: 'node' | 'rust' | 'python' | 'go' | 'make'
  /**
   * Returns the checks in the directory; undefined if it is not such a project. `above` is what was found in a parent
   * directory.
   */
  find(place: Place, above: Found | undefined): Found | undefined
}

export type Found = {
  /** The tool name for messages: `npm`, `cargo`. */
  readonly tool: string
  readonly checks: readonly FoundCheck[]
}

export type FoundCheck = {
  readonly kind: 'test' | 'typecheck' | 'lint'
  readonly description: string
  readonly command: string
  readonly required: boolean
  readonly definition?: string
}

/** The maximum size of a manifest; a larger file is not one. */
export const maxManifestBytes = 1024 * 1024
