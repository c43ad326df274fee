import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { RequirementSet } from '../tool/requirement.js'

/** The variables that patterns may use, and what each stands for on this host at this moment. */
export const variableNames = ['workspace', 'ad-hoc', 'user-data', 'scratch'] as const
export type VariableName = (typeof variableNames)[number]

/**
 * The directories each variable stands for: `workspace` the root and any further roots, `ad-hoc` those of open single files,
 * `user-data` the host's own directory for the user, `scratch` the session's. None, or left out: patterns with it match nothing.
 */
export type VariableValues = { readonly [Name in VariableName]?: readonly string[] }

const reference = /\{([^{}]*)\}/g

/** Throws when a pattern names a variable that does not exist: a typing error must not silently match nothing. */
export function assertVariables(requirements: RequirementSet): void {
  for (const pattern of patternsOf(requirements)) {
    for (const [, name] of pattern.matchAll(reference)) {
      if (isVariable(name) || isAlternation(name)) continue
      throw new UnknownVariableError(name ?? '', pattern)
    }
  }
}

/**
 * The patterns that one pattern stands for: one for each combination of its variables' values. None when a variable stands for
 * nothing, so that the pattern matches nothing.
 */
export function expandVariables(pattern: string, values: VariableValues): string[] {
  assertVariables({ fs: { read: [pattern] } })
  let expanded = ['']
  let from = 0
  for (const found of pattern.matchAll(reference)) {
    const name = found[1]
    const options = isVariable(name) ? (values[name] ?? []) : [found[0]]
    const between = pattern.slice(from, found.index)
    expanded = expanded.flatMap((start) => options.map((option) => start + between + literal(option, name)))
    from = found.index + found[0].length
  }
  return expanded.map((start) => start + pattern.slice(from))
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

/** A pattern names a variable that does not exist. */
export class UnknownVariableError extends CapstanError {
  readonly variable: string

  constructor(variable: string, pattern: string) {
    const near = nearestNames(variable, variableNames)
    const hint =
      near.length > 0
        ? `did you mean ${quoteNames(near.map((name) => `{${name}}`))}?`
        : `known: ${variableNames.map((name) => `{${name}}`).join(', ')}`
    super(
      'unknown_variable',
      `Unknown variable {${variable}} in the pattern ${JSON.stringify(pattern)}; ${hint}`,
    )
    this.variable = variable
  }
}

markErrorClass(UnknownVariableError, 'UnknownVariableError')

function isVariable(name: string | undefined): name is VariableName {
  return (variableNames as readonly (string | undefined)[]).includes(name)
}

/** `{ts,tsx}` is a choice of endings, not a variable. */
function isAlternation(name: string | undefined): boolean {
  return name?.includes(',') ?? false
}

/** A directory may have a name that looks like a pattern; it stands for itself. */
function literal(value: string, name: string | undefined): string {
  return isVariable(name) ? value.replace(/[\\*?[\]{}!()]/g, '\\$&') : value
}

function* patternsOf({ fs, net }: RequirementSet): Generator<string> {
  yield* fs?.read ?? []
  yield* fs?.write ?? []
  yield* net?.hosts ?? []
}
