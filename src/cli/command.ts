import type { Args } from './args.js'
import type { Io } from './io.js'

/** One `--option` of a command. */
export type OptionSpec = {
  readonly name: string
  readonly short?: string
  /** What its value is called; absent: it has none. */
  readonly value?: string
  readonly repeatable?: boolean
  readonly summary: string
  /** The values it may have, for checks and completion. */
  readonly choices?: readonly string[]
}

export type Example = { readonly line: string; readonly says: string }

/** A subcommand: what it is called with, and what it does. */
export type Command = {
  /** What follows the name, one line a form. */
  readonly usage: readonly string[]
  /** What to know beyond the summary. */
  readonly about?: string
  /** Words that may follow the name, for checks and completion. */
  readonly actions?: Readonly<Record<string, string>>
  readonly options: readonly OptionSpec[]
  readonly examples: readonly Example[]
  /** Gives the exit code. What it throws is told in one line. `commands` are all there are, for those that speak of others. */
  run(args: Args, io: Io, commands?: readonly CommandEntry[]): Promise<number>
}

/** A subcommand that is loaded when it is called. */
export type CommandEntry = {
  readonly name: string
  readonly summary: string
  load(): Promise<Command>
}
