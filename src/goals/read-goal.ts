import type { Goal } from '../feature/goal.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { GoalError } from './errors.js'

/** Returns the goal with all limits. Throws `GoalError` for an invalid value. */
export function readGoal(value: unknown): CheckedGoal {
  if (!isRecord(value)) throw new GoalError('A goal must be an object with a description.')
  const odd = Object.keys(value).find((name) => !known.includes(name))
  if (odd !== undefined) throw new GoalError(`goal.${odd} is not known. Known are: ${known.join(', ')}.`)
  const { description, check } = value
  if (
    typeof description !== 'string' ||
    description.trim() === '' ||
    description.length > maxDescriptionLength
  )
    throw new GoalError(`goal.description must be a text of 1 to ${maxDescriptionLength} characters.`)
  return {
    description: description.trim(),
    check: readCheck(check),
    maxRounds: limit(value, 'maxRounds', defaultGoal.maxRounds, true),
    maxTimeMs: limit(value, 'maxTimeMs', defaultGoal.maxTimeMs, true),
    maxCostUsd: limit(value, 'maxCostUsd', Number.POSITIVE_INFINITY, false),
  }
}

/**
 * Converts a goal to its form in the log. A judge that is a model object is stored as the session's own model; limits
 * that are not set are left out.
 */
export function storedGoal(goal: Goal): JsonObject {
  const { description, check, maxRounds, maxTimeMs, maxCostUsd } = readGoal(goal)
  const judge = 'judge' in check && typeof check.judge === 'string' ? check.judge : true
  // Values that cannot be serialized are not part of a command.
  const commands = Array.isArray(check) ? (JSON.parse(JSON.stringify(check)) as JsonObject[]) : undefined
  return {
    description,
    check: commands ?? { judge },
    maxRounds,
    maxTimeMs,
    ...(Number.isFinite(maxCostUsd) && { maxCostUsd }),
  }
}

/** A validated goal with all defaults. */
export type CheckedGoal = Required<Goal>

const defaultGoal = { maxRounds: 200, maxTimeMs: 3_600_000 } as const

/**
 * Reads the argument of `/goal`: the description, then commands, each after `check:` at the start of a line or after a
 * semicolon.
 */
export function parseGoal(text: string): CheckedGoal {
  const [description = '', ...commands] = text.split(/(?:^|[;\n])[ \t]*check:/)
  const check = commands.map((command) => command.trim()).filter((command) => command !== '')
  return readGoal({ description: description.trim(), ...(check.length > 0 && { check }) })
}

const known = ['description', 'check', 'maxRounds', 'maxTimeMs', 'maxCostUsd']
const maxDescriptionLength = 4_000

function readCheck(check: unknown): CheckedGoal['check'] {
  if (check === undefined || check === null) return { judge: true }
  if (Array.isArray(check)) {
    if (check.length === 0) throw new GoalError('goal.check has no command. Leave it out to ask a judge.')
    // The commands are validated where they are run.
    return check as CheckedGoal['check']
  }
  const judge = isRecord(check) ? check['judge'] : undefined
  if (judge === true || (typeof judge === 'string' && judge !== '')) return { judge }
  if (isRecord(judge) && typeof judge['answer'] === 'function')
    return { judge } as unknown as CheckedGoal['check']
  throw new GoalError(
    'goal.check must be a list of commands, or { judge: true }, { judge: "provider/model" } or { judge: model }.',
  )
}

function limit(
  value: Readonly<Record<string, unknown>>,
  name: string,
  missing: number,
  whole: boolean,
): number {
  const given = value[name] ?? missing
  if (typeof given === 'number' && given > 0 && (!whole || Number.isInteger(given))) return given
  throw new GoalError(`goal.${name} must be a ${whole ? 'whole ' : ''}number above 0.`)
}
