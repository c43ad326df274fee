import { CapstanError, markErrorClass, messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { compileRule } from './compiled-rule.js'
import { PatternError } from './pattern-error.js'
import { knownCapabilities, languageOf, parsePermission, spelledAsBuiltin } from './permission.js'
import { formatRule, type Rule, type RuleSource } from './rule.js'
import type { Scope } from './scope.js'
import { compileCommandPattern, patternWarnings } from './shell/command-pattern.js'
import { type Action, actions } from './verdict.js'

/**
 * The `permissionPolicy` of a session: rules as strings such as `bash(git push*)`, `read(*)`, `mcp__github`, plain
 * `bash`.
 *
 * @example
 * ```ts
 * const permissionPolicy: PermissionPolicy = {
 *   deny: ['read(**\/.env*)'],
 *   ask: ['bash(git push*)'],
 *   allow: ['bash(npm test)', 'edit(src/**)'],
 * }
 * ```
 */
export type PermissionPolicy = {
  readonly deny?: readonly string[]
  readonly ask?: readonly string[]
  readonly allow?: readonly string[]
  /**
   * The verdict on everything that no rule covers, including reading. Absent: reading the workspace is allowed, the
   * rest needs approval.
   */
  readonly defaultDecision?: Action
  /** False: as if there were no policy. It never means that everything is allowed. */
  readonly enabled?: boolean
}

/** The rules of a policy, and its default decision. */
export type CompiledPolicy = {
  readonly rules: readonly Rule[]
  readonly defaultDecision: Action
  /** The policy states its default decision. */
  readonly explicitDefault: boolean
  readonly warnings: readonly string[]
}

/** Thrown for an invalid policy. `position` is the index in the invalid string, if there is one. */
export class PolicyError extends CapstanError {
  readonly position?: number

  constructor(message: string, position?: number, options?: { cause?: unknown }) {
    super('invalid_policy', message, options)
    if (position !== undefined) this.position = position
  }
}

markErrorClass(PolicyError, 'PolicyError')

export type PolicyContext = {
  /** Existing tool ids; a rule for another tool is an error. Absent: not checked. */
  readonly knownTools?: Iterable<string>
  readonly scope?: Scope
  readonly source?: RuleSource
}

/**
 * Compiles the strings of a policy into rules; its denies are pinned. Throws {@link PolicyError} for anything it does
 * not understand: a rule that is silently ignored is worse than none.
 *
 * @example
 * compilePolicy({ deny: ['write(**\/.env*)'], ask: ['bash(git push*)'], allow: ['read(*)'] }).rules
 */
export function compilePolicy(policy: PermissionPolicy, context: PolicyContext = {}): CompiledPolicy {
  assertPolicyShape(policy)
  if (policy.enabled === false)
    return { rules: [], defaultDecision: 'ask', explicitDefault: false, warnings: [] }
  const { source = 'manifest', scope = anyScope } = context
  const known = context.knownTools && [...context.knownTools]
  const rules = (['deny', 'ask', 'allow'] as const).flatMap((action) =>
    (policy[action] ?? []).map((text): Rule => {
      const rule = {
        ...parsePolicyString(text),
        action,
        source,
        ...(action === 'deny' ? { pinned: true } : {}),
      }
      assertKnownTool(rule, text, known)
      assertPattern(rule, text, scope)
      return rule
    }),
  )
  assertNoContradiction(rules)
  return {
    rules,
    defaultDecision: policy.defaultDecision ?? 'ask',
    explicitDefault: policy.defaultDecision !== undefined,
    warnings: lintRules(rules),
  }
}

/** Parses one policy string. Throws {@link PolicyError} with the position. */
export function parsePolicyString(text: string): Pick<Rule, 'permission' | 'pattern'> {
  const open = text.indexOf('(')
  const name = open < 0 ? text : text.slice(0, open)
  if (name === '') throw syntaxError(text, 0, 'a rule starts with the name of a tool or capability')
  const stray = name.indexOf(')')
  if (stray >= 0) throw syntaxError(text, stray, '")" without its "("')
  const permission = mcpPermission(spelledAsBuiltin(name))
  const parsed = parsePermission(permission)
  if ('problem' in parsed) throw syntaxError(text, 0, parsed.problem)
  if (open < 0) return { permission, pattern: '*' }
  const close = closingParenthesis(text, open)
  if (close < text.length - 1) throw syntaxError(text, close + 1, 'something after the closing parenthesis')
  const pattern = text.slice(open + 1, close)
  if (pattern.trim() === '')
    throw syntaxError(text, open + 1, `an empty pattern; leave the parentheses out, or write ${name}(*)`)
  return { permission, pattern }
}

/** Returns a warning for each rule for an unknown tool: it can be added later, but the rule is usually a typo. */
export function rulesForUnknownTools(policy: PermissionPolicy, known: readonly string[]): string[] {
  const texts = [...(policy.deny ?? []), ...(policy.ask ?? []), ...(policy.allow ?? [])]
  return texts.flatMap((text) => {
    const parsed = parsePermission(parsePolicyString(text).permission)
    if ('problem' in parsed || parsed.kind !== 'tool' || known.includes(parsed.id)) return []
    const near = nearestNames(parsed.id, [...known, ...knownCapabilities])
    const hint = near.length === 0 ? '' : ` Did you mean ${quoteNames(near)}?`
    return [`The rule ${JSON.stringify(text)} is for a tool that does not exist, and has no effect.${hint}`]
  })
}

/**
 * Returns warnings for rules that are valid but probably not intended: an allow that matches more than its author
 * meant (SEC-040, SEC-041).
 */
export function lintRules(rules: readonly Rule[]): string[] {
  return rules.flatMap((rule) => {
    const parsed = parsePermission(rule.permission)
    const isCommand = !('problem' in parsed) && languageOf(parsed) === 'command'
    if (rule.action !== 'allow' || rule.pattern === '*' || !isCommand) return []
    if (rule.pattern.endsWith(':*'))
      return [
        `${formatRule(rule)}: the colon is literal; to match any arguments, write a space before the star`,
      ]
    return patternWarnings(compileCommandPattern(rule.pattern)).map(
      (warning) => `${formatRule(rule)}: ${warning}`,
    )
  })
}

const policyFields = ['deny', 'ask', 'allow', 'defaultDecision', 'enabled'] as const
export const anyScope: Scope = {
  variables: { workspace: ['/'], scratch: ['/'], 'ad-hoc': ['/'], 'user-data': ['/'] },
  home: '/',
}

/** Throws {@link PolicyError} for a value that is not shaped like a policy. */
export function assertPolicyShape(policy: unknown): asserts policy is PermissionPolicy {
  if (!isRecord(policy)) throw new PolicyError('permissionPolicy must be an object')
  for (const key of Object.keys(policy)) {
    if ((policyFields as readonly string[]).includes(key)) continue
    const near = nearestNames(key, policyFields)
    const hint = near.length > 0 ? `did you mean ${quoteNames(near)}?` : `known: ${policyFields.join(', ')}`
    throw new PolicyError(`permissionPolicy has no option "${key}"; ${hint}`)
  }
  for (const list of ['deny', 'ask', 'allow'] as const) {
    const given = policy[list]
    if (given !== undefined && !(Array.isArray(given) && given.every((one) => typeof one === 'string')))
      throw new PolicyError(`permissionPolicy.${list} must be a list of strings such as "bash(git push*)"`)
  }
  const { defaultDecision, enabled } = policy
  if (defaultDecision !== undefined && !(actions as readonly unknown[]).includes(defaultDecision))
    throw new PolicyError(
      `permissionPolicy.defaultDecision must be "allow", "ask" or "deny", not ${JSON.stringify(defaultDecision)}`,
    )
  if (enabled !== undefined && typeof enabled !== 'boolean')
    throw new PolicyError(`permissionPolicy.enabled must be true or false, not ${JSON.stringify(enabled)}`)
}

/** Tools of a server are named `mcp__server__tool`; rules are stored as `mcp:server:tool`. */
function mcpPermission(name: string): string {
  const found = /^mcp__(.+?)(?:__(.+))?$/.exec(name)
  return found === null ? name : `mcp:${found[1]}:${found[2] ?? '*'}`
}

/** Parentheses inside quotes or after a backslash belong to the command. */
function closingParenthesis(text: string, open: number): number {
  let depth = 0
  let quote = ''
  for (let at = open; at < text.length; at++) {
    const char = text[at] ?? ''
    if (char === '\\' && quote !== "'") at += 1
    else if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '(') depth += 1
    else if (char === ')') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  throw syntaxError(text, open, '"(" without its ")"')
}

function assertKnownTool(rule: Rule, text: string, known: readonly string[] | undefined): void {
  const parsed = parsePermission(rule.permission)
  if (known === undefined || 'problem' in parsed || parsed.kind !== 'tool' || known.includes(parsed.id))
    return
  const near = nearestNames(parsed.id, [...known, ...knownCapabilities])
  const hint = near.length > 0 ? `did you mean ${quoteNames(near)}?` : `known: ${known.join(', ')}`
  throw new PolicyError(`The rule ${JSON.stringify(text)} is for an unknown tool "${parsed.id}"; ${hint}`, 0)
}

function assertPattern(rule: Rule, text: string, scope: Scope): void {
  try {
    compileRule(rule, 0, scope)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    const inner = cause instanceof PatternError ? cause.position : 0
    throw new PolicyError(messageOf(error), text.indexOf('(') + 1 + inner, { cause: error })
  }
}

/** Throws when the same thing is both allowed and denied, because it is unknown which was intended (SEC-042). */
function assertNoContradiction(rules: readonly Rule[]): void {
  const seen = new Map<string, Rule>()
  for (const rule of rules) {
    const written = formatRule(rule)
    const other = seen.get(written)
    if (other !== undefined && other.action !== rule.action)
      throw new PolicyError(`${JSON.stringify(written)} is in both ${other.action} and ${rule.action}`)
    seen.set(written, rule)
  }
}

function syntaxError(text: string, position: number, problem: string): PolicyError {
  return new PolicyError(
    `The rule ${JSON.stringify(text)} is not valid at position ${position}: ${problem}`,
    position,
  )
}
