import type { RequirementSet } from '../tool/requirement.js'
import { assertVariables, readPattern, type VariableName } from '../tool/requirement-check.js'

export {
  assertVariables,
  UnknownVariableError,
  type VariableName,
  variableNames,
} from '../tool/requirement-check.js'

/**
 * The directories of each variable: `workspace` the root and further roots, `ad-hoc` those of open single files,
 * `user-data` the host's directory for the user, `scratch` the session's. None, blank, or absent: patterns with the
 * variable match nothing.
 */
export type VariableValues = { readonly [Name in VariableName]?: readonly string[] }

/**
 * Returns the patterns that a pattern expands to: one per combination of its variables' values. None when a variable
 * has no value, so that the pattern matches nothing.
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

/** Returns a requirement set with every variable replaced, ready to be matched against real paths and hosts. */
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

/** Removes blank values: an unset path must not mean the root of the disk. */
function directories(values: readonly string[] = []): string[] {
  return values
    .filter((value) => value.trim() !== '')
    .map((value) => (/^\/+$/.test(value) ? '/' : value.replace(/\/+$/, '')))
}

/** Escapes a directory name that looks like a pattern. */
function literal(value: string): string {
  return value.replace(/[\\*?[\]{}!()]/g, '\\$&')
}
