import type { VerificationCommand } from '../../store/verification.js'

/** What can be read of a workspace at once. Paths are relative to its root; names of directories end with a slash. */
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

/** One directory that is looked at. */
export type Place = {
  readonly names: ReadonlySet<string>
  /** A file next to it. */
  text(name: string): string | undefined
  /** A directory inside it. */
  list(name: string): readonly string[]
}

/** A language or tool that projects are recognised by. */
export type Kind = {
  readonly id: 'node' | 'rust' | 'python' | 'go' | 'make'
  /** What the place offers; undefined when it is not such a project. `above` is what was found in a directory above. */
  find(place: Place, above: Found | undefined): Found | undefined
}

export type Found = {
  /** For messages: `npm`, `cargo`. */
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

/** Of a manifest: more is not a manifest. */
export const maxManifestBytes = 1024 * 1024
