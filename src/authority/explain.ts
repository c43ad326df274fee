import { type Call, type ExpandedCall, expandCall, isGuess } from './call.js'
import { type Authority, type Decision, decide } from './decide.js'
import { describeSubject, type Judgement, type SubjectJudgement } from './judge.js'
import { formatRule, type Rule } from './rule.js'
import { createRuleBook, type MatchingRule, type RuleBookOptions } from './rule-book.js'
import { strictest, type Verdict } from './verdict.js'

/** Why a call would be allowed, need approval or be denied: the result of every layer, and every rule that matched. */
export type Explanation = {
  readonly call: Call
  readonly verdict: Verdict
  /** What the grant denies; absent when everything is granted, or nothing is limited. */
  readonly refusal?: string | undefined
  readonly watchdog?: Verdict | undefined
  readonly decision: Decision
}

/**
 * Explains a call. The caller asks the watchdog, which can be asynchronous, and passes its verdict; without one, the
 * explanation covers the other layers.
 */
export function explain(call: Call | ExpandedCall, authority: Authority, watchdog?: Verdict): Explanation {
  const expanded = 'scope' in call ? call : expandCall(call, authority.book.scope)
  const decision = decide(expanded, authority)
  return {
    call: expanded.call,
    verdict: strictest(decision.verdict, ...(watchdog === undefined ? [] : [watchdog])),
    refusal: decision.refusal?.message,
    watchdog,
    decision,
  }
}

/** Formats the explanation as text for a terminal. */
export function formatExplanation({ call, verdict, refusal, watchdog, decision }: Explanation): string {
  const inherited = decision.inherited.flatMap((judgement, at) =>
    section(`rules of the ${'grand'.repeat(at)}parent`, judgement, call),
  )
  return [
    `${call.tool}: ${formatVerdict(verdict)}`,
    `  grant: ${refusal ?? 'everything it touches is granted'}`,
    ...section('rules', decision.rules, call),
    ...decision.limits.flatMap((judgement) => section('limit', judgement, call)),
    ...inherited,
    `  watchdog: ${watchdog === undefined ? 'not asked' : formatVerdict(watchdog)}`,
  ].join('\n')
}

/** Explains what rules would decide about calls, without running any, to test a policy. */
export function simulate(options: RuleBookOptions, calls: readonly Call[]): Explanation[] {
  const book = createRuleBook(options)
  return calls.map((call) => explain(call, { book }))
}

function section(title: string, judgement: Judgement, call: Call): string[] {
  // Words that may be a path or a command are listed only where a rule restricts them.
  const listed = judgement.subjects.filter(
    ({ subject, verdict }) => verdict.action !== 'allow' || !isGuess(subject),
  )
  const subjects = listed.flatMap((one) => [
    `    ${describeSubject(one.subject, call)}: ${one.verdict.action} (${decider(one)})`,
    ...one.matches.map((match) => `      ${formatMatch(match, one.rule)}`),
  ])
  return [`  ${title}: ${formatVerdict(judgement.verdict)}`, ...subjects]
}

function decider({ decidedBy, rule }: SubjectJudgement): string {
  if (rule !== undefined) return `by ${formatRule(rule)}`
  if (decidedBy === 'doubt') return 'not fully understood'
  if (decidedBy === 'search') return 'each result of the search is judged'
  return decidedBy === 'command' ? 'covered by the command that names it' : 'no rule covers it'
}

function formatMatch(
  { rule, rank, pinned, level, specificity, widened }: MatchingRule,
  decided: Rule | undefined,
): string {
  const notes = [
    rule.source,
    `level ${level}`,
    `specificity ${specificity}`,
    ...(pinned ? ['pinned'] : []),
    ...(widened ? ['applies to other tools too'] : []),
    ...(rule.untrusted ? ['not confirmed'] : []),
    ...(rule === decided ? ['decides'] : []),
  ]
  return `${rank}. ${rule.action} ${formatRule(rule)} (${notes.join(', ')})`
}

function formatVerdict(verdict: Verdict): string {
  const reason = verdict.action === 'allow' ? undefined : verdict.reason
  return reason === undefined ? verdict.action : `${verdict.action}, ${reason}`
}
