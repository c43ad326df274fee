/** What is known of a shell command without running it. */

/**
 * A word of a command: its value when no expansion could change it, else only its text, and what the expanded word
 * certainly begins with.
 */
export type Word = { readonly text: string; readonly value?: string; readonly prefix?: string }

export type Redirection = {
  readonly mode: 'read' | 'write' | 'readwrite'
  readonly target: Word
}

/** One simple command, wherever in the text it stands: in a list, a pipe, a substitution, a wrapper, a nested script. */
export type CommandUnit = {
  /** The source text. */
  readonly text: string
  /** The name and its arguments, after quotes are taken off. What a wrapper such as `env` starts is a unit of its own, after it. */
  readonly words: readonly Word[]
  readonly assignments: readonly { readonly name: string; readonly value: Word }[]
  /** Those written on this command. The redirections of a group or loop are a unit of their own, without words. */
  readonly redirections: readonly Redirection[]
  /** Where it runs: a path relative to where the whole command starts (or absolute); undefined when it cannot be known. */
  readonly cwd: string | undefined
  /** Why no pattern may allow this unit, in words; empty when one may. */
  readonly doubts: readonly string[]
  /**
   * Set on what does nothing by itself but start the units that follow (`timeout 10 …`, `bash -c '…'`, `CI=1`): as long
   * as it has no doubts it needs no allow of its own. Denies bind it like any other unit.
   */
  readonly transparent?: true
  /**
   * The position of the word that names a script file which a shell runs (`sh build.sh`). The file is not read, so only an allow
   * that names it covers the unit.
   */
  readonly scriptFile?: number
}

/**
 * How sure it is that a command opens a path.
 * - `redirection`: bash opens it.
 * - `argument`: an argument of a command whose use of it is known.
 * - `mention`: an argument of a program about which nothing is known; it may read and write it.
 * - `part`: a piece of such an argument: `.env` in `HEAD:.env` or `-f.env`.
 * - `prose`: a word of an argument that is a whole text: a message, or a script.
 */
export type PathOrigin = 'redirection' | 'argument' | 'mention' | 'part' | 'prose'

/**
 * A file that the command names. A path that starts with `~/`, or holds glob characters of a word that is not static, is
 * there for denies only: its unit cannot be allowed by a pattern anyway.
 */
export type NamedPath = {
  readonly fs: 'read' | 'write'
  readonly origin: PathOrigin
  /** Set where the command may read everything below, if this is a directory. */
  readonly tree?: true
  readonly path: string
  /** What a relative path is relative to; undefined when it cannot be known. */
  readonly cwd: string | undefined
  readonly unit: number
  /** The command opens it only where it would lie in a directory that exists, which only the disk can tell. */
  readonly ifDirectory?: true
}

/** A command that another program may start, because its words are arguments of that program. Only restrictions bind it. */
export type PossibleCommand = {
  readonly unit: CommandUnit
  /** It was read from a text that may as well be a message. */
  readonly prose: boolean
}

export type CommandAnalysis = {
  readonly text: string
  readonly units: readonly CommandUnit[]
  readonly possible: readonly PossibleCommand[]
  /** Why the command as a whole can at best be asked about (too long, not parsed, odd characters); empty when it is understood. */
  readonly doubts: readonly string[]
  /** Set when the text can never be run: a NUL byte, text that is not well-formed. */
  readonly invalid?: string
  /** Files that the command names: redirections, and whatever in its arguments may be a path. */
  readonly paths: readonly NamedPath[]
  /** Hosts of literal URLs, and of /dev/tcp and /dev/udp. */
  readonly hosts: readonly string[]
}
