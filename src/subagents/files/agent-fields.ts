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

/** The value of the first of these names that is there. */
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

/** True, or not said. */
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

/** `provider/model`, or the two apart. Names of one word belong to other systems, and leave the model as it is. */
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

/** `permissions` as they are written: lists of rules, a plain name being all of a tool. */
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

/** `manifest`: what the agent asks for, and rules that come with it. */
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

/** The tools and rules of an agent: those it names and no others; what it disallows is denied whatever else is said. */
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
    // With a list of tools nothing else is allowed; with rules of its own, or with denies alone, what they leave open
    // stays open.
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

/** Throws for rules that cannot be used. */
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
