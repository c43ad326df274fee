import { CapstanError, markErrorClass } from './errors.js'
import { isRecord } from './json.js'
import { nearestNames, quoteNames } from './nearest.js'
import type { RequirementSet } from './requirement.js'

/** The variables that patterns can use. */
export const variableNames = ['workspace', 'ad-hoc', 'user-data', 'scratch'] as const
/** The name of a variable in patterns. */
export type VariableName = (typeof variableNames)[number]

/** Throws when a pattern names an unknown variable, because a typo must not silently match nothing. */
export function assertVariables(requirements: RequirementSet, owner?: string): void {
  for (const pattern of patternsOf(requirements)) readPattern(pattern, owner)
}

/**
 * Throws when a value is not a set of requirements or names an unknown variable. `owner` names its owner in the
 * message. A wrong set would otherwise grant nothing at the first call, where its author does not see why.
 */
export function assertRequirements(given: unknown, owner: string): asserts given is RequirementSet {
  const problem = shapeProblem(given)
  if (problem !== undefined) throw new TypeError(`The requirements of ${owner} cannot be read: ${problem}.`)
  assertVariables(given as RequirementSet, owner)
}

/** A pattern names an unknown variable or has an unmatched brace. */
export class UnknownVariableError extends CapstanError {
  readonly variable: string

  constructor(variable: string, pattern: string, owner?: string, problem?: string) {
    const near = nearestNames(variable, variableNames)
    const hint =
      near.length > 0
        ? `did you mean ${quoteNames(near.map((name) => `{${name}}`))}?`
        : `known: ${variableNames.map((name) => `{${name}}`).join(', ')}`
    super(
      'unknown_variable',
      `${problem ?? `Unknown variable {${variable}}`} in the pattern ${JSON.stringify(pattern)}${owner === undefined ? '' : ` of ${owner}`}; ${hint}`,
    )
    this.variable = variable
  }
}

markErrorClass(UnknownVariableError, 'UnknownVariableError')

export type PatternPart = { readonly text: string; readonly variable?: VariableName }

/** Splits a pattern at its variables. `{ts,tsx}` is a choice of texts; a backslash escapes the next character. */
export function readPattern(pattern: string, owner?: string): PatternPart[] {
  const parts: PatternPart[] = []
  let text = ''
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') {
      text += pattern.slice(at, at + 2)
      at++
    } else if (char === '}') {
      throw new UnknownVariableError('', pattern, owner, `A "}" that closes nothing (at ${at})`)
    } else if (char !== '{') {
      text += char
    } else {
      const end = pattern.indexOf('}', at)
      const name = end < 0 ? pattern.slice(at + 1) : pattern.slice(at + 1, end)
      if (end < 0 || name.includes('{'))
        throw new UnknownVariableError(
          name.split(/[/,{]/)[0] ?? '',
          pattern,
          owner,
          `A "{" that is never closed (at ${at})`,
        )
      const part = readBraces(name, pattern, owner)
      if (part.variable === undefined) text += part.text
      else {
        parts.push({ text }, part)
        text = ''
      }
      at = end
    }
  }
  return [...parts, { text }]
}

function readBraces(name: string, pattern: string, owner: string | undefined): PatternPart {
  if (isVariable(name)) return { text: '', variable: name }
  if (!name.includes(',')) throw new UnknownVariableError(name, pattern, owner)
  // A choice that contains a variable's name, or a similar one, was probably intended as a choice of variables, which
  // does not exist.
  const meant = name.split(',').find((choice) => nearestNames(choice, variableNames).length > 0)
  if (meant !== undefined)
    throw new UnknownVariableError(meant, pattern, owner, `A choice cannot hold a variable: {${name}}`)
  return { text: `{${name}}` }
}

function isVariable(name: string): name is VariableName {
  return (variableNames as readonly string[]).includes(name)
}

function* patternsOf({ fs, net }: RequirementSet): Generator<string> {
  yield* fs?.read ?? []
  yield* fs?.write ?? []
  yield* net?.hosts ?? []
}

type Check = (value: unknown) => string | undefined

const texts: Check = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? undefined
    : 'must be a list of strings'

const commands: Check = (value) =>
  Array.isArray(value) && value.every(isCommand)
    ? undefined
    : 'must be a list of commands such as { cmd: "git", args: ["log"] }'

const shape: Readonly<Record<string, Check | Readonly<Record<string, Check>>>> = {
  fs: { read: texts, write: texts },
  net: { hosts: texts },
  shell: commands,
  capabilities: texts,
}

function shapeProblem(given: unknown): string | undefined {
  return isRecord(given) ? fieldsProblem(given, shape, '') : 'they must be an object'
}

function fieldsProblem(
  given: Readonly<Record<string, unknown>>,
  known: typeof shape,
  path: string,
): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined
    if (check === undefined) {
      const near = nearestNames(name, Object.keys(known))
      const hint =
        near.length === 0 ? `known: ${Object.keys(known).join(', ')}` : `did you mean ${quoteNames(near)}?`
      return `the field "${path}${name}" does not exist; ${hint}`
    }
    if (value === undefined) continue
    const problem =
      typeof check === 'function'
        ? check(value) && `${path}${name} ${check(value)}`
        : isRecord(value)
          ? fieldsProblem(value, check, `${path}${name}.`)
          : `${path}${name} must be an object`
    if (problem !== undefined) return problem
  }
  return undefined
}

function isCommand(value: unknown): boolean {
  if (!isRecord(value) || typeof value['cmd'] !== 'string' || value['cmd'] === '') return false
  const { args } = value
  return args === undefined || (Array.isArray(args) && args.every(isArgument))
}

function isArgument(value: unknown): boolean {
  if (typeof value === 'string') return true
  return isRecord(value) && (value['wildcard'] === true || typeof value['prefix'] === 'string')
}
