import { ProgramError } from './errors.js'

/** The limits of a program. */
export type ProgramLimits = {
  /** The time limit of the program and its calls. Default: 30000; 600000 for a program that delegates to subagents. */
  readonly timeoutMs: number
  /** The maximum number of calls, including failed, denied and unawaited ones. */
  readonly maxToolCalls: number
  /** The maximum size of one call's result that reaches the program, and of its own result as JSON. */
  readonly maxOutputBytes: number
}

const limitBounds = {
  timeoutMs: { default: 30_000, least: 1, most: 600_000 },
  maxToolCalls: { default: 20, least: 0, most: 1_000 },
  maxOutputBytes: { default: 65_536, least: 1, most: 16 * 1024 * 1024 },
} as const

export const maxSourceBytes = 192 * 1024
/** Inputs are small: a program reads large data from files. */
export const maxInputBytes = 1024 * 1024

/** The default of `timeoutMs` for a program that delegates to subagents: their work takes minutes. */
export const delegatingTimeoutMs = limitBounds.timeoutMs.most

/** Returns whether a tool delegates work to a subagent. */
export function delegates(tool: string): boolean {
  return tool === 'task' || tool === 'parallel_task' || tool === 'Skill'
}

/** Returns the limits with defaults. Throws for values out of range and for unknown names. */
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
    `The limit ${name} of a program must be an integer from ${bounds.least} to ${bounds.most}, not ${String(value)}.`,
  )
}
