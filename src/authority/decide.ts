import { type Call, type ExpandedCall, expandCall } from './call.js'
import { checkSubjects, type Grant, type GrantRefusal } from './grant.js'
import { type Judgement, judge } from './judge.js'
import type { RuleBook } from './rule-book.js'
import { strictest, type Verdict } from './verdict.js'

/** All that holds for one agent's calls before the watchdog: its grant, its rules, the limits of its mode, and its parents. */
export type Authority = {
  readonly book: RuleBook
  /** Absent: nothing was declared or limited, as for a host's own judgement. */
  readonly grant?: Grant
  /** Rule books that must allow what `book` allows; a mode brings one. */
  readonly limits?: readonly RuleBook[]
  /**
   * For a subagent: what its parent's rules and limits deny, it is denied too, all the way up. A function is asked at each decision, so
   * that a mode or rule which the parent takes on later binds as well.
   */
  readonly parent?: Authority | (() => Authority)
}

export type Decision = {
  readonly verdict: Verdict
  readonly refusal?: GrantRefusal
  readonly rules: Judgement
  readonly limits: readonly Judgement[]
  /** The parent's rules, its parent's, and so on; only their denies count. */
  readonly inherited: readonly Judgement[]
}

/** The capability check and the rules in one. What the grant refuses no rule can permit. */
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
  return { verdict, ...(refusal === undefined ? {} : { refusal }), rules, limits, inherited }
}

/** The limits that hold for an agent, its own and those of its parents: the books of `Decision.limits`, in their order. */
export function limitsOf(authority: Authority): RuleBook[] {
  return [authority, ...ancestors(authority)].flatMap((one) => one.limits ?? [])
}

function ancestors({ parent }: Authority): Authority[] {
  const now = typeof parent === 'function' ? parent() : parent
  return now === undefined ? [] : [now, ...ancestors(now)]
}

/** A parent that would merely ask does not bind its child: the child has its own answer to that. Every deny does (SEC-231). */
function deniesOnly({ verdict }: Judgement): Verdict {
  return verdict.action === 'deny'
    ? { action: 'deny', reason: `${verdict.reason}, which holds for subagents too` }
    : { action: 'allow' }
}
