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
  /** Those written on this very command; what a group or loop is redirected to is only in `paths`. */
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
}

/**
 * A file that the command names. A path that starts with `~/`, or holds glob characters of a word that is not static, is
 * there for denies only: its unit cannot be allowed by a pattern anyway.
 */
export type NamedPath = {
  readonly fs: 'read' | 'write'
  readonly path: string
  /** What a relative path is relative to; undefined when it cannot be known. */
  readonly cwd: string | undefined
  readonly unit: number
  /** The command opens it only where it would lie in a directory that exists, which only the disk can tell. */
  readonly ifDirectory?: true
}

export type CommandAnalysis = {
  readonly text: string
  readonly units: readonly CommandUnit[]
  /** Why the command as a whole can at best be asked about (too long, not parsed, odd characters); empty when it is understood. */
  readonly doubts: readonly string[]
  /** Set when the text can never be run: a NUL byte, text that is not well-formed. */
  readonly invalid?: string
  /** Files that the command names literally: redirections, and arguments of commands known to read or write them. */
  readonly paths: readonly NamedPath[]
  /** Hosts of literal URLs, and of /dev/tcp and /dev/udp. */
  readonly hosts: readonly string[]
}
