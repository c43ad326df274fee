import { createContext, Script } from 'node:vm'
import { messageOf } from '../tool/errors.js'
import { HookError } from './errors.js'

/** Whether a command fits; `undecided` when it is too long, or the expression took too long to say. */
export type CommandMatch = 'yes' | 'no' | 'undecided'

const maxCommandLength = 8 * 1024
const maxPatternLength = 1024
const timeoutMs = 100
/** How long an expression can run on this thread without a noticeable delay. */
const maxSteps = 2 ** 20

/**
 * Reads a regular expression for commands. The commands are a model's, so one that would keep the expression busy for
 * ever must be expected: only the plainest expressions run as they are, all others under a time limit that ends them.
 */
export function compileCommandPattern(pattern: string | RegExp): (command: string) => CommandMatch {
  const regex = readRegex(pattern)
  const repeats = repeatsIn(regex.source)
  return (command) => {
    if (command.length > maxCommandLength) return 'undecided'
    if (command.length ** (repeats + 1) <= maxSteps) return regex.test(command) ? 'yes' : 'no'
    return testInTime(regex, command)
  }
}

function readRegex(pattern: string | RegExp): RegExp {
  const source = typeof pattern === 'string' ? pattern : pattern.source
  if (source === '') throw new HookError('matcher.commandPattern is empty')
  if (source.length > maxPatternLength)
    throw new HookError(`matcher.commandPattern is longer than ${maxPatternLength} characters`)
  try {
    // A sticky or global expression would remember where it stopped the last time.
    return new RegExp(source, typeof pattern === 'string' ? '' : pattern.flags.replace(/[gy]/g, ''))
  } catch (error) {
    throw new HookError(`matcher.commandPattern is not a regular expression: ${messageOf(error)}`)
  }
}

/**
 * How many repetitions an expression has: each can multiply the work by the length of the command. Where something that
 * has alternatives is repeated, or looked for again, there is no such bound.
 */
function repeatsIn(source: string): number {
  if (/\\[1-9k]/.test(source)) return Number.POSITIVE_INFINITY
  const bare = source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/g, 'x').replace(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, '(')
  return /\)[*+{]/.test(bare) ? Number.POSITIVE_INFINITY : (bare.match(/[*+?{]/g) ?? []).length
}

type Bench = { regex: RegExp; command: string }

let bench: { readonly place: Bench; readonly test: Script } | undefined

/** A script with a time limit is the one way to end a regular expression that runs on this thread. */
function testInTime(regex: RegExp, command: string): CommandMatch {
  bench ??= {
    place: createContext({ regex, command }) as Bench,
    test: new Script('regex.test(command)'),
  }
  const { place, test } = bench
  Object.assign(place, { regex, command })
  try {
    return test.runInContext(place, { timeout: timeoutMs }) === true ? 'yes' : 'no'
  } catch {
    // It ran out of time: that is the only thing it can throw.
    return 'undecided'
  }
}
