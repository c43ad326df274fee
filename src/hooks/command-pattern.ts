import { createContext, Script } from 'node:vm'
import { messageOf, tryOr } from '../tool/errors.js'
import { HookError } from './errors.js'

/** Whether a command matches; `undecided` when it is too long, or the expression took too long. */
export type CommandMatch = 'yes' | 'no' | 'undecided'

const maxCommandLength = 8 * 1024
const maxPatternLength = 1024
const usualTimeoutMs = 100
/** The estimated number of steps that an expression can run on this thread without a noticeable delay. */
const maxSteps = 2 ** 20

/**
 * Compiles a regular expression for commands. A model writes the commands, so one of them can cause catastrophic
 * backtracking: only the simplest expressions run directly, all others with a time limit.
 */
export function compileCommandPattern(
  pattern: string | RegExp,
  timeoutMs = usualTimeoutMs,
): (command: string) => CommandMatch {
  const regex = readRegex(pattern)
  const repeats = repeatsIn(regex.source)
  return (command) => {
    if (command.length > maxCommandLength) return 'undecided'
    if (command.length ** (repeats + 1) <= maxSteps) return regex.test(command) ? 'yes' : 'no'
    return testInTime(regex, command, timeoutMs)
  }
}

function readRegex(pattern: string | RegExp): RegExp {
  const source = typeof pattern === 'string' ? pattern : pattern.source
  if (source === '') throw new HookError('matcher.commandPattern is empty')
  if (source.length > maxPatternLength)
    throw new HookError(`matcher.commandPattern is longer than ${maxPatternLength} characters`)
  try {
    // A sticky or global expression would keep `lastIndex` between calls.
    return new RegExp(source, typeof pattern === 'string' ? '' : pattern.flags.replace(/[gy]/g, ''))
  } catch (error) {
    throw new HookError(`matcher.commandPattern is not a regular expression: ${messageOf(error)}`)
  }
}

/**
 * Returns the number of repetitions in an expression: each can multiply the work by the length of the command. Infinite
 * for a repeated group or a backreference, because there the work has no such bound.
 */
function repeatsIn(source: string): number {
  if (/\\[1-9k]/.test(source)) return Number.POSITIVE_INFINITY
  const bare = source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/g, 'x').replace(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, '(')
  return /\)[*+{]/.test(bare) ? Number.POSITIVE_INFINITY : (bare.match(/[*+?{]/g) ?? []).length
}

type Bench = { regex: RegExp; command: string }

let bench: { readonly place: Bench; readonly test: Script } | undefined

/** A script with a time limit is the only way to stop a regular expression that runs on this thread. */
function testInTime(regex: RegExp, command: string, timeoutMs: number): CommandMatch {
  bench ??= {
    place: createContext({ regex, command }) as Bench,
    test: new Script('regex.test(command)'),
  }
  const { place, test } = bench
  Object.assign(place, { regex, command })
  // The script can only throw because of the time limit.
  const matches = tryOr(() => test.runInContext(place, { timeout: timeoutMs }) === true, undefined)
  return matches === undefined ? 'undecided' : matches ? 'yes' : 'no'
}
