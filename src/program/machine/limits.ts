import { ProgramError } from './errors.js'

export type ProgramLimits = {
  /** How long the program may take, its calls included. Default: 30000; 600000 for a program that hands work to subagents. */
  readonly timeoutMs: number
  /** How many calls it may make: failed, refused and unawaited ones count. */
  readonly maxToolCalls: number
  /** How much of the result of one call reaches the program, and how long its own result may be as JSON. */
  readonly maxOutputBytes: number
}

const limitBounds = {
  timeoutMs: { default: 30_000, least: 1, most: 600_000 },
  maxToolCalls: { default: 20, least: 0, most: 1_000 },
  maxOutputBytes: { default: 65_536, least: 1, most: 16 * 1024 * 1024 },
} as const

export const maxSourceBytes = 192 * 1024
/** Inputs are small by nature: the program reads what is large from files. */
export const maxInputBytes = 1024 * 1024

/** The default of `timeoutMs` for a program that hands work to subagents: their work takes minutes. */
export const delegatingTimeoutMs = limitBounds.timeoutMs.most

/** Whether a tool hands work to a subagent. */
export function delegates(tool: string): boolean {
  return tool === 'task' || tool === 'parallel_task' || tool === 'Skill'
}

/** The limits with what was left out filled in. Refuses what is outside the bounds, and names no limit knows. */
export function programLimits(given: Partial<ProgramLimits> = {}): ProgramLimits {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(limitBounds, name))
  if (unknown !== undefined)
    throw new ProgramError(
      'program_limit_invalid',
      `There is no limit "${unknown}": the limits of a program are ${Object.keys(limitBounds).join(', ')}.`,
    )
  return {
    timeoutMs: checked('timeoutMs', given.timeoutMs),
    maxToolCalls: checked('maxToolCalls', given.maxToolCalls),
    maxOutputBytes: checked('maxOutputBytes', given.maxOutputBytes),
  }
}

function checked(name: keyof ProgramLimits, value: number | undefined): number {
  const bounds = limitBounds[name]
  if (value === undefined) return bounds.default
  if (Number.isInteger(value) && value >= bounds.least && value <= bounds.most) return value
  throw new ProgramError(
    'program_limit_invalid',
    `The limit ${name} of a program is a whole number from ${bounds.least} to ${bounds.most}, not ${String(value)}.`,
  )
}
