import { CapstanError, messageOf } from '../tool/errors.js'
import { toCliWording } from './cli-wording.js'
import { CommandLineError } from './errors.js'
import { type ExitCode, exitCodes } from './exit-codes.js'
import type { Io } from './io.js'
import { colorsFor } from './terminal/colors.js'
import { safeText } from './terminal/safe-text.js'

/** What is told of something that ended the command: a line, and a hint where there is one. No stack, unless it is asked for. */
export function describeFailure(
  error: unknown,
  io: Pick<Io, 'env' | 'isTTY'>,
): { readonly text: string; readonly exitCode: ExitCode } {
  const { red, dim } = colorsFor(io, 'stderr')
  const exitCode = exitCodeOf(error)
  const hint = error instanceof CommandLineError ? error.hint : hintFor(error)
  // What nobody foresaw is worth a report, and that needs to say where it happened.
  const stack =
    io.env['CAPSTAN_DEBUG'] && error instanceof Error && error.stack !== undefined ? `\n${error.stack}` : ''
  const lines = [
    `${red('capstan:')} ${safeText(toCliWording(messageOf(error)))}`,
    ...(hint === undefined ? [] : [dim(`hint: ${safeText(hint)}`)]),
  ]
  return { text: `${lines.join('\n')}${safeText(stack)}\n`, exitCode }
}

/** The exit code for what a run or a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandLineError) return error.exitCode
  if (!(error instanceof CapstanError)) return exitCodes.failed
  return exitCodeFor(error.code)
}

/** The same by the stable code of an error, which is all that an event of a run carries. */
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

/** What was wrong before anything was begun. */
const usage: ReadonlySet<string> = new Set([
  'invalid_policy',
  'session_option',
  'workspace_unusable',
  'config_error',
  'agent_dir_invalid',
  'agent_not_found',
])

function hintFor(error: unknown): string | undefined {
  if (!(error instanceof CapstanError)) return undefined
  switch (error.code) {
    case 'model_auth':
      return 'Set the key in the environment or in a configuration; "capstan doctor" says what is found.'
    case 'max_tool_rounds':
      return 'Give more with --max-rounds, and go on with --continue.'
    case 'session_locked':
      return 'Another process works on this session: wait for it, or fork it with "capstan sessions fork".'
    case 'invalid_policy':
      return 'A rule looks like bash(git status*), write(src/**) or plain edit.'
    default:
      return undefined
  }
}
