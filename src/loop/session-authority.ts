import type { Authority } from '../authority/decide.js'
import { defaultRules } from '../authority/default-rules.js'
import { createGrant, type Grant, grantForTool } from '../authority/grant.js'
import type { ModeName } from '../authority/mode.js'
import { compilePolicy, type PermissionPolicy } from '../authority/policy.js'
import type { Rule } from '../authority/rule.js'
import type { RuleBook } from '../authority/rule-book.js'
import type { Scope } from '../authority/scope.js'
import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import type { RequirementSet } from '../tool/requirement.js'
import { sharedBooks } from './shared-books.js'

export type SessionAuthorityOptions = {
  /** Where the session lives, at this moment; a new object when that has changed. */
  scope(): Scope
  /** What the agent asks for beside its tools. */
  readonly manifest?: RequirementSet
  /** The tools the agent has: each extends what it asks for. */
  tools(): readonly AnyTool[]
  /** What nothing may exceed. Absent: wide open. */
  readonly ceiling?: RequirementSet
  readonly policy?: PermissionPolicy
  /** Of the project's rule file. */
  readonly projectRules?: readonly Rule[]
  readonly sessionRules?: readonly Rule[]
  readonly mode?: ModeName
  /** For a subagent: what holds for its parent, asked for at every call so that the parent's later changes bind too. */
  readonly parent?: () => Authority
}

/** What holds for the calls of one session, and how it changes while the session runs. */
export interface SessionAuthority {
  /** For a call of one tool; the same object as long as nothing has changed. */
  for(tool: AnyGovernedTool): Authority
  /** Of the agent as a whole: what a subagent takes for its parent. */
  agent(): Authority
  /** The rules a person agreed to in this session. */
  readonly sessionRules: readonly Rule[]
  addRule(rule: Rule): void
  readonly mode: ModeName | undefined
  setMode(mode: ModeName | undefined): void
  /** What is odd about the policy: patterns that match more than they seem to. */
  readonly warnings: readonly string[]
}

type State = {
  readonly scope: Scope
  readonly tools: readonly AnyTool[]
  readonly books: { readonly book: RuleBook; readonly limit?: RuleBook }
  readonly grant: Grant
  readonly byTool: WeakMap<AnyGovernedTool, Authority>
}

/** Puts together the built-in manifest, the policy, the project's rules and the session's. Throws for a policy that cannot be used. */
export function createSessionAuthority(options: SessionAuthorityOptions): SessionAuthority {
  return new LiveAuthority(options)
}

class LiveAuthority implements SessionAuthority {
  readonly #options: SessionAuthorityOptions
  readonly #policy: ReturnType<typeof compilePolicy>
  readonly sessionRules: Rule[]
  #mode: ModeName | undefined
  /** What a session may is made again when it is needed: idle, it takes more memory than anything else of it. */
  #kept: WeakRef<State> | undefined

  constructor(options: SessionAuthorityOptions) {
    this.#options = options
    this.#policy = compilePolicy(options.policy ?? {}, { scope: options.scope() })
    this.sessionRules = [...(options.sessionRules ?? [])]
    this.#mode = options.mode
  }

  get warnings(): readonly string[] {
    return this.#policy.warnings
  }

  get mode(): ModeName | undefined {
    return this.#mode
  }

  for(tool: AnyGovernedTool): Authority {
    const now = this.#current()
    // A parent's grant may change at any time, so nothing of it is kept.
    const known = this.#options.parent === undefined ? now.byTool.get(tool) : undefined
    if (known !== undefined) return known
    const made = this.#authority(now, grantForTool(now.grant, tool.name, tool.requires, now.scope))
    now.byTool.set(tool, made)
    return made
  }

  agent(): Authority {
    const now = this.#current()
    return this.#authority(now, now.grant)
  }

  addRule(rule: Rule): void {
    this.sessionRules.push(rule)
    this.#kept = undefined
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
    const rules = [
      ...defaultRules,
      ...this.#policy.rules,
      ...(this.#options.projectRules ?? []),
      ...this.sessionRules,
    ]
    const books = sharedBooks({ rules, scope, defaultDecision: this.#policy.defaultDecision }, this.#mode)
    const state = { scope, tools, books, grant: grantOf(this.#options, scope, tools), byTool: new WeakMap() }
    this.#kept = new WeakRef(state)
    return state
  }

  #authority({ books }: State, grant: Grant): Authority {
    const { parent } = this.#options
    return {
      book: books.book,
      grant,
      ...(books.limit === undefined ? {} : { limits: [books.limit] }),
      ...(parent === undefined ? {} : { parent }),
    }
  }
}

function grantOf(
  { manifest, ceiling, parent }: SessionAuthorityOptions,
  scope: Scope,
  tools: readonly AnyTool[],
): Grant {
  const inherited = parent?.().grant
  return createGrant({
    scope,
    tools: tools.flatMap(({ requires }) => (requires === undefined ? [] : [requires])),
    ...(manifest === undefined ? {} : { manifest }),
    ...(ceiling === undefined ? {} : { ceiling }),
    ...(inherited === undefined ? {} : { parent: inherited }),
  })
}

function sameTools(before: readonly AnyTool[], now: readonly AnyTool[]): boolean {
  return before.length === now.length && now.every((tool, at) => tool === before[at])
}
