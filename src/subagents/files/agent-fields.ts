import { checkManifest } from '../../authority/check-manifest.js'
import { compilePolicy, type PermissionPolicy } from '../../authority/policy.js'
import { readToolList, toolsOf } from '../../authority/tool-list.js'
import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { RequirementSet } from '../../tool/requirement.js'
import type { AgentDefinition } from '../agent-definition.js'
import { AgentFileError } from './errors.js'

export type Fields = Readonly<Record<string, unknown>>

/** Returns the value of the first of these names that is present. */
export function fieldOf(fields: Fields, ...names: readonly string[]): unknown {
  const name = names.find((one) => fields[one] !== undefined && fields[one] !== null)
  return name === undefined ? undefined : fields[name]
}

export function nameOf(given: unknown, stem = ''): string {
  const name = given ?? stem
  if (typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/.test(name)) return name
  throw new AgentFileError(
    'its name must be 1 to 64 letters, digits and . _ : -, beginning with a letter or digit',
  )
}

export function textField(fields: Fields, name: string): string | undefined {
  const given = fields[name]
  if (given === undefined || given === null) return undefined
  if (typeof given !== 'string') throw new AgentFileError(`${name} must be a text`)
  return given.trim() === '' ? undefined : given.trim()
}

/** Reads an optional boolean field. */
export function flagField<Name extends string>(
  fields: Fields,
  name: Name,
): { readonly [Key in Name]?: boolean } {
  const given = fields[name]
  if (given === undefined || given === null) return {}
  if (typeof given !== 'boolean') throw new AgentFileError(`${name} must be true or false`)
  return { [name]: given } as { readonly [Key in Name]?: boolean }
}

export function wordField<Word extends string>(
  given: unknown,
  name: string,
  words: readonly Word[],
): Word | undefined {
  if (given === undefined) return undefined
  const known = words.find((word) => word === given)
  if (known !== undefined) return known
  throw new AgentFileError(`invalid ${name}: ${shown(given)} (expected: ${words.join(', ')})`)
}

export function stepsOf(given: unknown): Pick<AgentDefinition, 'maxSteps'> {
  if (given === undefined) return {}
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 1)
    throw new AgentFileError(`max_steps must be a whole number of at least 1, not ${shown(given)}`)
  return { maxSteps: given }
}

/**
 * Reads `provider/model`, as one string or as two fields. A single word is a name of another system; it is reported,
 * and the session's model is used.
 */
export function modelOf(given: unknown, problems: string[]): Pick<AgentDefinition, 'model'> {
  if (given === undefined || given === 'inherit') return {}
  const name =
    isRecord(given) && typeof given['provider'] === 'string' && typeof given['model'] === 'string'
      ? `${given['provider']}/${given['model']}`
      : isRecord(given)
        ? given['model']
        : given
  if (typeof name === 'string' && /^[^/\s]+\/\S+$/.test(name)) return { model: name }
  problems.push(`model ${shown(name)} is not of the form "provider/model": the model of the session is used`)
  return {}
}

const decisions = ['allow', 'deny', 'ask'] as const

/** Reads `permissions`: lists of rules, in which a plain name means the whole tool. */
export function permissionsOf(given: unknown): PermissionPolicy | undefined {
  if (given === undefined) return undefined
  if (!isRecord(given)) throw new AgentFileError('permissions must have lists: allow, ask, deny')
  const known = ['allow', 'ask', 'deny', 'default', 'defaultDecision', 'default_decision']
  const odd = Object.keys(given).find((name) => !known.includes(name))
  if (odd !== undefined)
    throw new AgentFileError(`permissions has no field "${odd}"; known: allow, ask, deny, default`)
  const fallback = wordField(
    fieldOf(given, 'default', 'defaultDecision', 'default_decision'),
    'permissions.default',
    decisions,
  )
  return {
    ...listField(given, 'allow'),
    ...listField(given, 'ask'),
    ...listField(given, 'deny'),
    ...omitUndefined({ defaultDecision: fallback }),
  }
}

/** Reads `manifest`: what the agent requires, and its rules. */
export function manifestOf(given: unknown): Pick<AgentDefinition, 'manifest'> {
  if (given === undefined) return {}
  if (!isRecord(given)) throw new AgentFileError('manifest must have the fields requires and permissions')
  const odd = Object.keys(given).find((name) => name !== 'requires' && name !== 'permissions')
  if (odd !== undefined)
    throw new AgentFileError(`manifest has no field "${odd}"; known: requires, permissions`)
  const permissions = permissionsOf(fieldOf(given, 'permissions'))
  const requires = fieldOf(given, 'requires') as RequirementSet | undefined
  const manifest = {
    ...omitUndefined({ requires, permissions }),
  }
  try {
    checkManifest(manifest)
    return { manifest }
  } catch (error) {
    throw new AgentFileError(messageOf(error))
  }
}

/**
 * Reads the tools and rules of an agent. Only the listed tools are offered; disallowed tools are denied regardless of
 * other rules.
 */
export function rightsOf(fields: Fields): Pick<AgentDefinition, 'tools' | 'permissions'> {
  const named = fieldOf(fields, 'tools', 'allowedTools', 'allowed_tools', 'allowed-tools')
  const barred = rulesOf(
    fieldOf(fields, 'disallowedTools', 'disallowed_tools', 'disallowed-tools'),
    'disallowedTools',
  )
  const written = permissionsOf(fieldOf(fields, 'permissions'))
  const allowed = named === undefined ? undefined : rulesOf(named, 'tools')
  const tools = allowed && toolsOf(allowed)
  if (allowed === undefined && written === undefined && barred.length === 0) return {}
  const deny = [...new Set([...(written?.deny ?? []), ...barred])]
  const own: PermissionPolicy = {
    // A list of tools denies everything else. Without one, calls that no rule of the agent matches are not restricted
    // by it.
    ...(allowed === undefined
      ? written === undefined && { defaultDecision: 'allow' }
      : { defaultDecision: 'deny' }),
    ...written,
    ...(allowed !== undefined && {
      allow: [...new Set([...allowed, ...(written?.allow ?? [])])].filter((rule) => !deny.includes(rule)),
    }),
    ...(deny.length > 0 && { deny }),
  }
  return {
    ...omitUndefined({ tools: tools?.filter((tool) => !barred.includes(tool)) }),
    permissions: checked(own),
  }
}

/** Throws if the rules are invalid. */
export function checked(policy: PermissionPolicy): PermissionPolicy {
  try {
    compilePolicy(policy)
    return policy
  } catch (error) {
    throw new AgentFileError(messageOf(error))
  }
}

function rulesOf(given: unknown, name: string): readonly string[] {
  const { rules, problems } = readToolList(given)
  if (problems.length > 0) throw new AgentFileError(`${name}: ${problems[0]}`)
  return rules
}

function listField<Name extends 'allow' | 'ask' | 'deny'>(
  fields: Fields,
  name: Name,
): { readonly [Key in Name]?: readonly string[] } {
  const given = fields[name]
  if (given === undefined || given === null) return {}
  return { [name]: rulesOf(given, `permissions.${name}`) } as { readonly [Key in Name]?: readonly string[] }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : (JSON.stringify(value) ?? 'nothing')
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
