import { CapstanError, messageOf } from '../tool/errors.js'
import { CommandLineError } from './errors.js'
import { type ExitCode, exitCodes } from './exit-codes.js'
import type { Io } from './io.js'
import { colorsFor } from './terminal/colors.js'
import { safeText } from './terminal/safe-text.js'

/** The error message and hint for an error that ended the command. The stack is included only with CAPSTAN_DEBUG. */
export function describeFailure(
  error: unknown,
  io: Pick<Io, 'env' | 'isTTY'>,
): { readonly text: string; readonly exitCode: ExitCode } {
  const { red, dim } = colorsFor(io, 'stderr')
  const exitCode = exitCodeOf(error)
  const hint =
    error instanceof CommandLineError
      ? error.hint
      : hintForCode(error instanceof CapstanError ? error.code : undefined)
  // An unexpected error should be reported as a bug, with its stack.
  const stack =
    io.env['CAPSTAN_DEBUG'] && error instanceof Error && error.stack !== undefined ? `\n${error.stack}` : ''
  const lines = [
    `${red('capstan:')} ${safeText(messageOf(error))}`,
    ...(hint === undefined ? [] : [dim(`hint: ${safeText(hint)}`)]),
  ]
  return { text: `${lines.join('\n')}${safeText(stack)}\n`, exitCode }
}

/** The exit code for an error that a run or a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandLineError) return error.exitCode
  if (!(error instanceof CapstanError)) return exitCodes.failed
  return exitCodeFor(error.code)
}

/** The exit code for an error code, because events of a run contain only the code. */
export function exitCodeFor(code: string | undefined): ExitCode {
  if (code === undefined) return exitCodes.failed
  if (code === 'cancelled') return exitCodes.cancelled
  if (limits.has(code)) return exitCodes.limit
  if (usage.has(code)) return exitCodes.usage
  return code.startsWith('model_') ? exitCodes.model : exitCodes.failed
}

const limits: ReadonlySet<string> = new Set([
  'run_timeout',
  'round_timeout',
  'max_tool_rounds',
  'malformed_calls',
  'repeated_calls',
  'budget_exhausted',
])

/** Errors that are found before anything is started. */
const usage: ReadonlySet<string> = new Set([
  'invalid_policy',
  'session_option',
  'workspace_unusable',
  'config_error',
  'agent_dir_invalid',
  'agent_not_found',
])

/** Returns what a user of the command can do about an error, by its code. */
export function hintForCode(code: string | undefined): string | undefined {
  switch (code) {
    case 'model_auth':
      return 'Set the API key in the environment or in a configuration. "capstan doctor" lists the keys it finds.'
    case 'max_tool_rounds':
      return 'Allow more rounds with --max-rounds N.'
    case 'run_timeout':
      return 'Allow more time with --timeout.'
    case 'session_locked':
      return 'Another process uses this session. Wait for it to end, or copy the session with "capstan sessions fork".'
    case 'invalid_policy':
      return 'Write a rule as bash(git status*), write(src/**) or edit.'
    default:
      return undefined
  }
}
