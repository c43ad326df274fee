import type { Authority } from '../authority/decide.js'
import { defaultRules } from '../authority/default-rules.js'
import { createGrant, type Grant, grantForTool } from '../authority/grant.js'
import { createModeBooks, type ModeName, modes } from '../authority/mode.js'
import { compilePolicy, type PermissionPolicy } from '../authority/policy.js'
import type { Rule } from '../authority/rule.js'
import type { RuleBook } from '../authority/rule-book.js'
import type { Scope } from '../authority/scope.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import type { RequirementSet } from '../tool/requirement.js'

export type SessionAuthorityOptions = {
  /** Where the session lives, at this moment; a new object when that has changed. */
  scope(): Scope
  /** What the agent asks for beside its tools. */
  readonly manifest?: RequirementSet
  /** The tools the agent has: each extends what it asks for. */
  tools(): readonly { readonly requires?: RequirementSet }[]
  /** What nothing may exceed. Absent: wide open. */
  readonly ceiling?: RequirementSet
  readonly policy?: PermissionPolicy
  /** Of the project's rule file. */
  readonly projectRules?: readonly Rule[]
  readonly sessionRules?: readonly Rule[]
  readonly mode?: ModeName
  /** For a subagent: what holds for its parent. */
  readonly parent?: Authority
}

/** What holds for the calls of one session, and how it changes while the session runs. */
export interface SessionAuthority {
  for(tool: AnyGovernedTool): Authority
  /** The rules a person agreed to in this session. */
  readonly sessionRules: readonly Rule[]
  addRule(rule: Rule): void
  readonly mode: ModeName | undefined
  setMode(mode: ModeName | undefined): void
  /** What is odd about the policy: patterns that match more than they seem to. */
  readonly warnings: readonly string[]
}

/** Puts together the built-in manifest, the policy, the project's rules and the session's. Throws for a policy that cannot be used. */
export function createSessionAuthority(options: SessionAuthorityOptions): SessionAuthority {
  const policy = compilePolicy(options.policy ?? {}, { scope: options.scope() })
  const sessionRules: Rule[] = [...(options.sessionRules ?? [])]
  let mode = options.mode
  let compiled: { scope: Scope; books: { book: RuleBook; limit?: RuleBook } } | undefined
  let granted: { scope: Scope; tools: number; grant: Grant; byTool: Map<AnyGovernedTool, Grant> } | undefined

  const books = (scope: Scope): { book: RuleBook; limit?: RuleBook } => {
    if (compiled?.scope !== scope) {
      const rules = [...defaultRules, ...policy.rules, ...(options.projectRules ?? []), ...sessionRules]
      const made = createModeBooks(
        { rules, scope, defaultDecision: policy.defaultDecision },
        mode && modes[mode],
      )
      compiled = { scope, books: made }
    }
    return compiled.books
  }
  const grantFor = (tool: AnyGovernedTool, scope: Scope): Grant => {
    const tools = options.tools()
    if (granted?.scope !== scope || granted.tools !== tools.length) {
      const { manifest, ceiling, parent } = options
      const grant = createGrant({
        scope,
        tools: tools.flatMap(({ requires }) => (requires === undefined ? [] : [requires])),
        ...(manifest === undefined ? {} : { manifest }),
        ...(ceiling === undefined ? {} : { ceiling }),
        ...(parent?.grant === undefined ? {} : { parent: parent.grant }),
      })
      granted = { scope, tools: tools.length, grant, byTool: new Map() }
    }
    const known = granted.byTool.get(tool)
    if (known !== undefined) return known
    const own = grantForTool(granted.grant, tool.name, tool.requires, scope)
    granted.byTool.set(tool, own)
    return own
  }

  return {
    sessionRules,
    warnings: policy.warnings,
    get mode() {
      return mode
    },
    for(tool) {
      const scope = options.scope()
      const { book, limit } = books(scope)
      return {
        book,
        grant: grantFor(tool, scope),
        ...(limit === undefined ? {} : { limits: [limit] }),
        ...(options.parent === undefined ? {} : { parent: options.parent }),
      }
    },
    addRule(rule) {
      sessionRules.push(rule)
      compiled = undefined
    },
    setMode(next) {
      mode = next
      compiled = undefined
    },
  }
}
