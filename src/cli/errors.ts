import { CapstanError, markErrorClass } from '../tool/errors.js'
import { type ExitCode, exitCodes } from './exit-codes.js'

/** An error that ends the command: one line, and a hint about what to do next. */
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

/** Invalid arguments. Nothing was started. */
export class UsageError extends CommandLineError {
  constructor(message: string, hint?: string) {
    super(message, hint, exitCodes.usage)
  }
}

markErrorClass(UsageError, 'UsageError')
