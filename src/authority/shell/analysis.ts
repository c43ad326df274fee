/** What is known about a shell command without running it. */

/**
 * A word of a command: its value if no expansion can change it, otherwise only its text and the certain beginning of
 * the expanded word.
 */
export type Word = { readonly text: string; readonly value?: string | undefined; readonly prefix?: string }

/** A redirection of a command to or from a file. */
export type Redirection = {
  readonly mode: 'read' | 'write' | 'readwrite'
  readonly target: Word
}

/** One simple command, anywhere in the text: in a list, a pipe, a substitution, a wrapper, a nested script. */
export type CommandUnit = {
  /** The source text. */
  readonly text: string
  /** The name and its arguments, without quotes. What a wrapper such as `env` starts is a separate unit, after it. */
  readonly words: readonly Word[]
  readonly assignments: readonly { readonly name: string; readonly value: Word }[]
  /** The redirections of this command. Those of a group or loop are a separate unit without words. */
  readonly redirections: readonly Redirection[]
  /** The directory it runs in: absolute, or relative to where the whole command starts; undefined when not known. */
  readonly cwd: string | undefined
  /** Why no pattern can allow this unit, one sentence each; empty when a pattern can. */
  readonly doubts: readonly string[]
  /**
   * Set on a unit that only starts the units that follow (`timeout 10 …`, `bash -c '…'`, `CI=1`): without doubts it
   * needs no allow of its own. Denies apply to it like to any other unit.
   */
  readonly transparent?: true | undefined
  /**
   * The position of the word that names a script file which a shell runs (`sh build.sh`). The file is not read, so
   * only an allow that names it covers the unit.
   */
  readonly scriptFile?: number | undefined
}

/**
 * How certain it is that a command opens a path.
 * - `redirection`: bash opens it.
 * - `argument`: an argument of a command whose use of it is known.
 * - `mention`: an argument of an unknown program, which may read and write it.
 * - `part`: a part of such an argument: `.env` in `HEAD:.env` or `-f.env`.
 * - `prose`: a word of an argument that is a whole text: a message or a script.
 */
export type PathOrigin = 'redirection' | 'argument' | 'mention' | 'part' | 'prose'

/**
 * A file that the command names. A path that starts with `~/`, or contains glob characters of a word that is not
 * static, exists only for denies: no pattern can allow its unit anyway.
 */
export type NamedPath = {
  readonly fs: 'read' | 'write'
  readonly origin: PathOrigin
  /** The command can read everything below it, if this is a directory. */
  readonly tree?: true
  readonly path: string
  /** The directory of a relative path; undefined when it is not known. */
  readonly cwd: string | undefined
  readonly unit: number
  /** The command opens it only if its directory exists, which can only be checked on the disk. */
  readonly ifDirectory?: true
}

/** A command that another program may start, because its words are arguments. Only restrictions apply to it. */
export type PossibleCommand = {
  readonly unit: CommandUnit
  /** It was read from a text that may also be a message. */
  readonly prose: boolean
}

/** The result of {@link analyzeCommand}: units, files, hosts and doubts of a command. */
export type CommandAnalysis = {
  readonly text: string
  readonly units: readonly CommandUnit[]
  readonly possible: readonly PossibleCommand[]
  /**
   * Why no pattern can allow the command as a whole (too long, not parsed, unusual characters); empty when it is
   * understood.
   */
  readonly doubts: readonly string[]
  /** Why the text can never run: a NUL byte, text that is not well-formed. */
  readonly invalid?: string
  /** Files that the command names: redirections, and everything in its arguments that may be a path. */
  readonly paths: readonly NamedPath[]
  /** Hosts of literal URLs, and of /dev/tcp and /dev/udp. */
  readonly hosts: readonly string[]
}
