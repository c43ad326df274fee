import type { RequirementSet } from '../tool/requirement.js'
import { assertVariables, readPattern, type VariableName } from '../tool/requirement-check.js'

export {
  assertVariables,
  UnknownVariableError,
  type VariableName,
  variableNames,
} from '../tool/requirement-check.js'

/**
 * The directories each variable stands for: `workspace` the root and any further roots, `ad-hoc` those of open single files,
 * `user-data` the host's own directory for the user, `scratch` the session's. None, blank, or left out: patterns with it match
 * nothing.
 */
export type VariableValues = { readonly [Name in VariableName]?: readonly string[] }

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
