import type { Args } from './args.js'
import type { ExitCode } from './exit-codes.js'
import type { Io } from './io.js'

/** One `--option` of a command. */
export type OptionSpec = {
  readonly name: string
  readonly short?: string
  /** The placeholder for the option's value in help; absent for an option without a value. */
  readonly value?: string
  readonly repeatable?: boolean
  readonly summary: string
  /** The allowed values, for checks and completion. */
  readonly choices?: readonly string[]
}

/** A command line, with a comment that describes it. */
export type Example = { readonly line: string; readonly comment: string }

/** A subcommand: its arguments, its help and its implementation. */
export type Command = {
  /** The arguments after the command's name, one line for each form. */
  readonly usage: readonly string[]
  /** Paragraphs of help after the usage. Single line breaks are reflowed. */
  readonly description?: string
  /** Words that the first argument can be, with a summary of each, for checks and completion. */
  readonly actions?: Readonly<Record<string, string>>
  readonly options: readonly OptionSpec[]
  readonly examples: readonly Example[]
  /** Exit codes in addition to those of every command, or with a meaning of their own. */
  readonly exitCodes?: Readonly<Partial<Record<ExitCode, string>>>
  /** Returns the exit code. `commands` is the command table, for commands that list the others. */
  run(args: Args, io: Io, commands?: readonly CommandEntry[]): Promise<number>
}

/** A subcommand that is loaded when it is called. */
export type CommandEntry = {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}
