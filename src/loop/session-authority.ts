import type { Authority } from '../authority/decide.js'
import { type Grant, intersectGrants } from '../authority/grant.js'
import type { Manifest } from '../authority/manifest.js'
import type { ModeName } from '../authority/mode.js'
import type { CompiledPolicy, PermissionPolicy } from '../authority/policy.js'
import { formatRule, type Rule } from '../authority/rule.js'
import type { RuleBook } from '../authority/rule-book.js'
import type { Scope } from '../authority/scope.js'
import { sharedGrant, sharedToolGrant } from '../authority/shared-grant.js'
import { sharedPolicy } from '../authority/shared-policy.js'
import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import type { RequirementSet } from '../tool/requirement.js'
import { sharedRuleBooks } from './shared-rule-books.js'

/** The options of the authority of a session. */
export type SessionAuthorityOptions = {
  /** Returns the current directories of the session; a new object when they have changed. */
  scope(): Scope
  /**
   * The requirements and rules of the agent in addition to its tools. Rules of the policy take precedence when both are
   * equally specific.
   */
  readonly manifest?: Manifest | undefined
  /** The tools of the agent: each extends the grant by its requirements. */
  tools(): readonly AnyTool[]
  /** The upper limit. Absent: no limit. */
  readonly ceiling?: RequirementSet | undefined
  readonly policy?: PermissionPolicy | undefined
  /** The rules of the project's rule file. */
  readonly projectRules?: readonly Rule[] | undefined
  readonly sessionRules?: readonly Rule[] | undefined
  readonly mode?: ModeName | undefined
  /**
   * For a subagent: returns the authority of its parent. Called at every call, so that later changes of the parent
   * apply too.
   */
  readonly parent?: ((child: Delegation) => Authority) | undefined
  /** Whether approvals that a user gave in this session also count for its subagents. */
  readonly delegateApprovals?: boolean | undefined
}

/** The scope and the grant of a child, for its parent to restrict. */
export type Delegation = {
  /** The directories of the child, which has its own scratch directory. */
  readonly scope: Scope
  /** The user's approvals for the child: they answer what its parents would have to ask, and override no deny. */
  readonly granted: readonly Rule[]
}

/** The permissions of one session's calls, and their changes while the session runs. */
export interface SessionAuthority {
  /** Returns the authority for a call of one tool; the same object as long as nothing has changed. */
  for(tool: AnyGovernedTool): Authority
  /**
   * Returns the authority for a call of a tool that only the host has: its requirements extend the grant for that call
   * only.
   */
  forHost(tool: AnyGovernedTool): Authority
  /** Returns the authority of the agent as a whole. */
  agent(): Authority
  /**
   * Returns the authority that a subagent gets as its parent's: the same, without the user's approvals for this
   * session.
   */
  delegated(child: Delegation): Authority
  /** The rules that a user approved in this session. */
  readonly sessionRules: readonly Rule[]
  addRule(rule: Rule): void
  /**
   * Returns the same authority with rules added and removed, to find out what it would decide. It shares nothing that
   * can change, and no call runs with it.
   */
  supposing(change: SupposedRules): SessionAuthority
  readonly mode: ModeName | undefined
  setMode(mode: ModeName | undefined): void
  /** Whether its mode and its rules are those that it was created with. */
  readonly isUnchanged: boolean
  /** Warnings about the policy: patterns that match more than they seem to. */
  readonly warnings: readonly string[]
}

/** Rules to judge a call with, in addition to those of the session or without some of them. */
export type SupposedRules = {
  readonly add?: readonly Rule[] | undefined
  /** Rules of any scope, as a policy writes them. */
  readonly remove?: readonly { readonly text: string; readonly source: Rule['source'] }[] | undefined
}

type State = {
  readonly scope: Scope
  readonly tools: readonly AnyTool[]
  readonly books: { readonly book: RuleBook; readonly limit?: RuleBook }
  readonly grant: Grant
  readonly byTool: WeakMap<AnyGovernedTool, Authority>
}

/** Combines the built-in manifest, the policy, the project's rules and the session's. Throws for an invalid policy. */
export function createSessionAuthority(options: SessionAuthorityOptions): SessionAuthority {
  return new LiveAuthority(options)
}

class LiveAuthority implements SessionAuthority {
  readonly #options: SessionAuthorityOptions
  readonly #policy: CompiledPolicy
  readonly #manifestPolicy: CompiledPolicy
  readonly sessionRules: Rule[]
  #mode: ModeName | undefined
  /** Held weakly and rebuilt on demand: in an idle session it would use more memory than everything else. */
  #kept: WeakRef<State> | undefined

  readonly #removed: NonNullable<SupposedRules['remove']>

  constructor(options: SessionAuthorityOptions, removed: NonNullable<SupposedRules['remove']> = []) {
    this.#options = options
    this.#removed = removed
    this.#policy = sharedPolicy(options.policy ?? {}, options.scope())
    this.#manifestPolicy = sharedPolicy(options.manifest?.permissions ?? {}, options.scope())
    this.sessionRules = [...(options.sessionRules ?? [])]
    this.#mode = options.mode
  }

  get warnings(): readonly string[] {
    return [...this.#manifestPolicy.warnings, ...this.#policy.warnings]
  }

  get mode(): ModeName | undefined {
    return this.#mode
  }

  get isUnchanged(): boolean {
    const { mode, sessionRules = [] } = this.#options
    return this.#mode === mode && this.sessionRules.length === sessionRules.length
  }

  for(tool: AnyGovernedTool): Authority {
    const now = this.#current()
    // A parent's grant can change at any time, so nothing that depends on it is cached.
    const known = this.#options.parent === undefined ? now.byTool.get(tool) : undefined
    if (known !== undefined) return known
    const made = this.#authority(now, sharedToolGrant(now.grant, tool.name, tool.requires, now.scope))
    now.byTool.set(tool, made)
    return made
  }

  forHost(tool: AnyGovernedTool): Authority {
    const { scope, tools, books } = this.#current()
    const grant = grantOf(this.#options, scope, [...tools, tool])
    return this.#authority({ books, scope }, sharedToolGrant(grant, tool.name, tool.requires, scope))
  }

  agent(): Authority {
    const now = this.#current()
    return this.#authority(now, now.grant)
  }

  delegated({ scope, granted }: Delegation): Authority {
    const { delegateApprovals = false } = this.#options
    const own = delegateApprovals ? this.sessionRules : this.sessionRules.filter((rule) => !isPersonal(rule))
    const books = this.#books(scope, own)
    const grant = grantOf(this.#options, scope, this.#options.tools())
    const authority = this.#authority({ books, scope }, grant, granted)
    // Denies are judged without the rules granted to the child: those can only answer asks.
    const asks = granted.length === 0 ? books.book : this.#books(scope, [...own, ...granted]).book
    return { ...authority, limits: [...(authority.limits ?? []), asks] }
  }

  addRule(rule: Rule): void {
    this.sessionRules.push(rule)
    this.#kept = undefined
  }

  supposing({ add = [], remove = [] }: SupposedRules): SessionAuthority {
    const sessionRules = [...this.sessionRules, ...add]
    return new LiveAuthority({ ...this.#options, sessionRules, mode: this.#mode }, remove)
  }

  setMode(next: ModeName | undefined): void {
    this.#mode = next
    this.#kept = undefined
  }

  #current(): State {
    const scope = this.#options.scope()
    const tools = this.#options.tools()
    const known = this.#kept?.deref()
    if (known !== undefined && known.scope === scope && sameTools(known.tools, tools)) return known
    const books = this.#books(scope, this.sessionRules)
    const state = { scope, tools, books, grant: grantOf(this.#options, scope, tools), byTool: new WeakMap() }
    this.#kept = new WeakRef(state)
    return state
  }

  #books(scope: Scope, sessionRules: readonly Rule[]): State['books'] {
    const rules = [
      ...this.#manifestPolicy.rules,
      ...this.#policy.rules,
      ...(this.#options.projectRules ?? []),
      ...sessionRules,
    ].filter(
      (rule) => !this.#removed.some((one) => one.source === rule.source && one.text === formatRule(rule)),
    )
    const stated = [this.#policy, this.#manifestPolicy].find((policy) => policy.explicitDefault)
    const { defaultDecision, explicitDefault } = stated ?? this.#policy
    return sharedRuleBooks({ rules, scope, defaultDecision, explicitDefault }, this.#mode)
  }

  /**
   * A child has at most the authority of its parent: its grant is cut to the parent's, and the parent's rules apply
   * too.
   */
  #authority(
    { books, scope }: Pick<State, 'books' | 'scope'>,
    grant: Grant,
    granted: readonly Rule[] = this.sessionRules,
  ): Authority {
    const { parent } = this.#options
    const above = parent?.({ scope, granted })
    return {
      book: books.book,
      grant: above?.grant === undefined ? grant : intersectGrants(grant, above.grant),
      ...(books.limit === undefined ? {} : { limits: [books.limit] }),
      ...(parent === undefined ? {} : { parent: () => parent({ scope, granted }) }),
    }
  }
}

function grantOf(
  { manifest, ceiling }: SessionAuthorityOptions,
  scope: Scope,
  tools: readonly AnyTool[],
): Grant {
  return sharedGrant({
    scope,
    tools: tools.flatMap(({ requires }) => (requires === undefined ? [] : [requires])),
    ...(manifest?.requires === undefined ? {} : { manifest: manifest.requires }),
    ...(ceiling === undefined ? {} : { ceiling }),
  })
}

/**
 * Returns whether a rule is a user's approval for this session, which does not cover a subagent's separate session.
 */
function isPersonal({ action, source }: Rule): boolean {
  return action === 'allow' && source === 'session'
}

function sameTools(before: readonly AnyTool[], now: readonly AnyTool[]): boolean {
  return before === now || (before.length === now.length && now.every((tool, at) => tool === before[at]))
}
