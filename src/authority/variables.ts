import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { RequirementSet } from '../tool/requirement.js'

/** The variables that patterns may use, and what each stands for on this host at this moment. */
export const variableNames = ['workspace', 'ad-hoc', 'user-data', 'scratch'] as const
export type VariableName = (typeof variableNames)[number]

/**
 * The directories each variable stands for: `workspace` the root and any further roots, `ad-hoc` those of open single files,
 * `user-data` the host's own directory for the user, `scratch` the session's. None, blank, or left out: patterns with it match
 * nothing.
 */
export type VariableValues = { readonly [Name in VariableName]?: readonly string[] }

/** Throws when a pattern names a variable that does not exist: a typing error must not silently match nothing. */
export function assertVariables(requirements: RequirementSet): void {
  for (const pattern of patternsOf(requirements)) readPattern(pattern)
}

/**
 * The patterns that one pattern stands for: one for each combination of its variables' values. None when a variable stands for
 * nothing, so that the pattern matches nothing.
 */
export function expandVariables(pattern: string, values: VariableValues): string[] {
  let expanded = ['']
  for (const part of readPattern(pattern)) {
    const options =
      part.variable === undefined ? [part.text] : directories(values[part.variable]).map(literal)
    expanded = expanded.flatMap((start) => options.map((option) => start + option))
  }
  return expanded
}

/** A requirement set with every variable replaced; ready to be matched against real paths and hosts. */
export function compileRequirements(requirements: RequirementSet, values: VariableValues): RequirementSet {
  assertVariables(requirements)
  const expand = (patterns: readonly string[] | undefined): string[] => [
    ...new Set((patterns ?? []).flatMap((pattern) => expandVariables(pattern, values))),
  ]
  const { fs, net, shell, capabilities } = requirements
  return {
    ...(fs === undefined
      ? {}
      : { fs: { ...(fs.read && { read: expand(fs.read) }), ...(fs.write && { write: expand(fs.write) }) } }),
    ...(net === undefined ? {} : { net: { ...(net.hosts && { hosts: expand(net.hosts) }) } }),
    ...(shell === undefined ? {} : { shell }),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}

/** A pattern names a variable that does not exist, or has a brace that belongs to nothing. */
export class UnknownVariableError extends CapstanError {
  readonly variable: string

  constructor(variable: string, pattern: string, problem?: string) {
    const near = nearestNames(variable, variableNames)
    const hint =
      near.length > 0
        ? `did you mean ${quoteNames(near.map((name) => `{${name}}`))}?`
        : `known: ${variableNames.map((name) => `{${name}}`).join(', ')}`
    super(
      'unknown_variable',
      `${problem ?? `Unknown variable {${variable}}`} in the pattern ${JSON.stringify(pattern)}; ${hint}`,
    )
    this.variable = variable
  }
}

markErrorClass(UnknownVariableError, 'UnknownVariableError')

type Part = { readonly text: string; readonly variable?: VariableName }

/** Takes a pattern apart at its variables. `{ts,tsx}` is a choice of texts; a backslash takes the next character for itself. */
function readPattern(pattern: string): Part[] {
  const parts: Part[] = []
  let text = ''
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]
    if (char === '\\') {
      text += pattern.slice(at, at + 2)
      at++
    } else if (char === '}') {
      throw new UnknownVariableError('', pattern, `A "}" that closes nothing (at ${at})`)
    } else if (char !== '{') {
      text += char
    } else {
      const end = pattern.indexOf('}', at)
      const name = end < 0 ? pattern.slice(at + 1) : pattern.slice(at + 1, end)
      if (end < 0 || name.includes('{'))
        throw new UnknownVariableError(
          name.split(/[/,{]/)[0] ?? '',
          pattern,
          `A "{" that is never closed (at ${at})`,
        )
      const part = readBraces(name, pattern)
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

function readBraces(name: string, pattern: string): Part {
  if (isVariable(name)) return { text: '', variable: name }
  if (!name.includes(',')) throw new UnknownVariableError(name, pattern)
  // A choice that has a variable's name in it, or nearly so, was meant to be something that does not exist.
  const meant = name.split(',').find((choice) => nearestNames(choice, variableNames).length > 0)
  if (meant !== undefined)
    throw new UnknownVariableError(meant, pattern, `A choice cannot hold a variable: {${name}}`)
  return { text: `{${name}}` }
}

function isVariable(name: string): name is VariableName {
  return (variableNames as readonly string[]).includes(name)
}

/** Blank values stand for nothing: an unset path must not come to mean the root of the disk. */
function directories(values: readonly string[] = []): string[] {
  return values
    .filter((value) => value.trim() !== '')
    .map((value) => (/^\/+$/.test(value) ? '/' : value.replace(/\/+$/, '')))
}

/** A directory may have a name that looks like a pattern; it stands for itself. */
function literal(value: string): string {
  return value.replace(/[\\*?[\]{}!()]/g, '\\$&')
}

function* patternsOf({ fs, net }: RequirementSet): Generator<string> {
  yield* fs?.read ?? []
  yield* fs?.write ?? []
  yield* net?.hosts ?? []
}
