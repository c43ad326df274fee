import { CapstanError, markErrorClass } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { parsePermission } from './permission.js'
import { type Action, actions } from './verdict.js'

/** Where a rule comes from; the later of these counts for more when two rules are equally specific. */
export const ruleSources = ['manifest', 'project', 'session'] as const
/** Where a rule comes from. */
export type RuleSource = (typeof ruleSources)[number]

/** `(permission, pattern, action)` with its scope. The field names are those that sessions store. */
export type Rule = {
  /** A tool id, a capability such as `fs.write`, `mcp:<server>:<tool>` with `*` in either, or `*`. */
  readonly permission: string
  /** What it matches: a path, a command or a host, depending on the permission; `*` matches all. */
  readonly pattern: string
  readonly action: Action
  readonly source: RuleSource
  /** Milliseconds since 1970. */
  readonly added_at?: number
  /** A deny that no rule can override; on an ask: no allow can override it. Every deny of a manifest is pinned. */
  readonly pinned?: boolean
  /** Examples that must match (`match`) and must not match (`not_match`): checked when the rule is loaded. */
  readonly match?: readonly string[]
  readonly not_match?: readonly string[]
  /** The reason, shown with the verdict. */
  readonly reason?: string
  /** Paths are compared like the most lenient file system: `.GIT`, `.git.` and `GIT~1` are `.git`. */
  readonly loose?: boolean
  /** Found in a workspace and not confirmed by a user: it can restrict, and never allows anything. */
  readonly untrusted?: boolean
  /**
   * Matches only the call itself of a tool that reports no subjects; never a path, host or command. For tools that
   * are trusted by their name: another tool with the same name still needs rules for its files and commands.
   */
  readonly callOnly?: boolean
  /**
   * For a tool of a server: the rule applies only while the tool's description, parameters and server are those that
   * a user approved (`ServerToolIdentity.digest`).
   */
  readonly digest?: string
}

/** Thrown for a rule that cannot be used. */
export class RuleError extends CapstanError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('invalid_rule', message, options)
  }
}

markErrorClass(RuleError, 'RuleError')

/** Parses a rule from stored data. Throws {@link RuleError} with the wrong field; unknown fields are errors. */
export function parseRule(value: unknown): Rule {
  if (!isRecord(value)) throw new RuleError(`A rule must be an object, not ${JSON.stringify(value)}`)
  for (const key of Object.keys(value)) {
    if (!(ruleFields as readonly string[]).includes(key)) throw new RuleError(unknownField(key))
  }
  const { permission, pattern, action, source = 'session', added_at } = value
  if (typeof permission !== 'string') throw new RuleError('A rule needs a `permission`')
  if (typeof pattern !== 'string') throw new RuleError(`The rule for "${permission}" needs a \`pattern\``)
  const written = `${permission}(${pattern})`
  const parsed = parsePermission(permission)
  if ('problem' in parsed)
    throw new RuleError(`The rule ${JSON.stringify(written)} is not valid: ${parsed.problem}`)
  if (pattern === '')
    throw new RuleError(`The rule for "${permission}" has an empty pattern; "*" matches everything`)
  if (!isOneOf(actions, action))
    throw new RuleError(`The action of ${written} must be allow, deny or ask, not ${JSON.stringify(action)}`)
  if (!isOneOf(ruleSources, source))
    throw new RuleError(
      `The source of ${written} must be manifest, project or session, not ${JSON.stringify(source)}`,
    )
  if (added_at !== undefined && (typeof added_at !== 'number' || !Number.isFinite(added_at)))
    throw new RuleError(`\`added_at\` of ${written} must be a number of milliseconds`)
  return {
    permission,
    pattern,
    action,
    source,
    ...(added_at === undefined ? {} : { added_at }),
    ...flag(value, 'pinned', written),
    ...flag(value, 'loose', written),
    ...flag(value, 'untrusted', written),
    ...flag(value, 'callOnly', written),
    ...examples(value, 'match', written),
    ...examples(value, 'not_match', written),
    ...reasonOf(value, written),
    ...digestOf(value, written),
  }
}

/** Formats a rule as a policy string: `bash(git push*)`; plain `bash` when it matches all. */
export function formatRule({ permission, pattern }: Pick<Rule, 'permission' | 'pattern'>): string {
  return pattern === '*' ? permission : `${permission}(${pattern})`
}

/** Returns whether no other rule can override this restriction. */
export function isPinned({ action, source, pinned, untrusted }: Rule): boolean {
  if (action === 'allow') return false
  return pinned === true || untrusted === true || (action === 'deny' && source === 'manifest')
}

const ruleFields = [
  'permission',
  'pattern',
  'action',
  'source',
  'added_at',
  'pinned',
  'match',
  'not_match',
  'reason',
  'loose',
  'untrusted',
  'callOnly',
  'digest',
] as const

function unknownField(key: string): string {
  const near = nearestNames(key, ruleFields)
  const hint = near.length > 0 ? `did you mean ${quoteNames(near)}?` : `known: ${ruleFields.join(', ')}`
  return `A rule has no field "${key}"; ${hint}`
}

function isOneOf<Item extends string>(items: readonly Item[], value: unknown): value is Item {
  return (items as readonly unknown[]).includes(value)
}

function flag<Name extends 'pinned' | 'loose' | 'untrusted' | 'callOnly'>(
  value: Record<string, unknown>,
  name: Name,
  written: string,
): { [Key in Name]?: boolean } {
  const given = value[name]
  if (given === undefined) return {}
  if (typeof given !== 'boolean') throw new RuleError(`\`${name}\` of ${written} must be true or false`)
  return { [name]: given } as { [Key in Name]?: boolean }
}

function examples<Name extends 'match' | 'not_match'>(
  value: Record<string, unknown>,
  name: Name,
  written: string,
): { [Key in Name]?: string[] } {
  const given = value[name]
  if (given === undefined) return {}
  if (!Array.isArray(given) || !given.every((one) => typeof one === 'string'))
    throw new RuleError(`\`${name}\` of ${written} must be a list of examples`)
  return { [name]: [...given] } as { [Key in Name]?: string[] }
}

function reasonOf(value: Record<string, unknown>, written: string): { reason?: string } {
  const { reason } = value
  if (reason === undefined) return {}
  if (typeof reason !== 'string') throw new RuleError(`\`reason\` of ${written} must be text`)
  return { reason }
}

/** Returns whether a text has the form of a digest: letters and digits in a few parts. */
export function isToolDigest(text: string): boolean {
  return /^[0-9a-f]{8,64}(-[0-9a-f]{8,64}){0,3}$/.test(text)
}

function digestOf(value: Record<string, unknown>, written: string): { digest?: string } {
  const { digest } = value
  if (digest === undefined) return {}
  if (typeof digest !== 'string' || !isToolDigest(digest))
    throw new RuleError(`\`digest\` of ${written} must be the digest of a tool`)
  return { digest }
}
