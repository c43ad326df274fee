import { CapstanError, markErrorClass } from '../tool/errors.js'
import { type ExitCode, exitCodes } from './exit-codes.js'

/** Something that ends the command: one line, and a hint what to do about it. */
export class CommandLineError extends CapstanError {
  readonly hint: string | undefined
  readonly exitCode: ExitCode

  constructor(message: string, hint?: string, exitCode: ExitCode = exitCodes.failed) {
    super('command_line', message)
    this.hint = hint
    this.exitCode = exitCode
  }
}

markErrorClass(CommandLineError, 'CommandLineError')

/** The command was called in a way that it does not understand. */
export class UsageError extends CommandLineError {
  constructor(message: string, hint?: string) {
    super(message, hint, exitCodes.usage)
  }
}

markErrorClass(UsageError, 'UsageError')
