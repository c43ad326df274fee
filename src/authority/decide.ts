import { type Call, type ExpandedCall, expandCall } from './call.js'
import { checkSubjects, type Grant, type GrantRefusal } from './grant.js'
import { type Judgement, judge } from './judge.js'
import type { RuleBook } from './rule-book.js'
import { strictest, type Verdict } from './verdict.js'

/** Everything that decides about an agent's calls before the watchdog: its grant, rules, mode limits, and parents. */
export type Authority = {
  readonly book: RuleBook
  /** Absent: nothing is declared or limited, as for a host's own calls. */
  readonly grant?: Grant
  /** Rule books that must also allow what `book` allows, for example that of a mode. */
  readonly limits?: readonly RuleBook[]
  /**
   * For a subagent: what the rules and limits of its parents deny is also denied to it. A function is called at each
   * decision, so that a mode or rule that the parent gets later also applies.
   */
  readonly parent?: Authority | (() => Authority)
}

/** The verdict on a call, with the answers of the grant, the rules, the limits and the parents. */
export type Decision = {
  readonly verdict: Verdict
  readonly refusal?: GrantRefusal | undefined
  readonly rules: Judgement
  readonly limits: readonly Judgement[]
  /** The judgements of the parent's rules, of its parent's, and so on; only their denies count. */
  readonly inherited: readonly Judgement[]
}

/** Applies the capability check and the rules. No rule can allow what the grant denies. */
export function decide(call: Call | ExpandedCall, authority: Authority): Decision {
  const expanded = 'scope' in call ? call : expandCall(call, authority.book.scope)
  const refusal = authority.grant && checkSubjects(authority.grant, expanded.subjects)
  const rules = judge(expanded, authority.book)
  const above = ancestors(authority)
  const limits = limitsOf(authority).map((limit) => judge(expanded, limit))
  const inherited = above.map(({ book }) => judge(expanded, book))
  const verdict = strictest(
    ...(refusal === undefined ? [] : [{ action: 'deny', reason: refusal.message } as const]),
    rules.verdict,
    ...limits.map((one) => one.verdict),
    ...inherited.map(deniesOnly),
  )
  return { verdict, refusal, rules, limits, inherited }
}

/** Returns the limits of an agent and of its parents: the books of `Decision.limits`, in their order. */
export function limitsOf(authority: Authority): RuleBook[] {
  return [authority, ...ancestors(authority)].flatMap((one) => one.limits ?? [])
}

function ancestors({ parent }: Authority): Authority[] {
  const now = typeof parent === 'function' ? parent() : parent
  return now === undefined ? [] : [now, ...ancestors(now)]
}

/** A parent's ask does not bind its subagent, which has its own rules for asking. Every deny does (SEC-231). */
function deniesOnly({ verdict }: Judgement): Verdict {
  return verdict.action === 'deny'
    ? { action: 'deny', reason: `${verdict.reason}, which applies to subagents too` }
    : { action: 'allow' }
}
