import { type Call, isGuess } from './call.js'
import type { Decision } from './decide.js'
import { describeSubject, type Judgement, type SubjectJudgement } from './judge.js'
import { formatRule, type Rule } from './rule.js'
import type { MatchingRule } from './rule-book.js'
import type { Action, Verdict } from './verdict.js'

/** How rules judged a call, as plain data: for logs, APIs and pages. */
export type JudgedCall = {
  readonly action: Action
  readonly reason?: string | undefined
  /** What the grant denies; absent when everything is granted. */
  readonly refusal?: string | undefined
  readonly layers: readonly JudgedLayer[]
}

/** The answer of one set of rules: the session's own, a limit such as a mode, or those of a parent. */
export type JudgedLayer = {
  readonly layer: 'rules' | 'limit' | 'parent'
  readonly action: Action
  readonly subjects: readonly JudgedPart[]
}

/** The answer about one thing that the call touches. */
export type JudgedPart = {
  /** `writing "/project/a.txt"` */
  readonly subject: string
  readonly action: Action
  readonly decidedBy: SubjectJudgement['decidedBy']
  readonly reason?: string | undefined
  /** The rule that decided. */
  readonly rule?: JudgedRule | undefined
  /** Every rule that matches, the strongest first; absent in logs. */
  readonly matches?: readonly JudgedMatch[] | undefined
}

/** A rule as a policy writes it, and the scope that it comes from. */
export type JudgedRule = { readonly text: string; readonly action: Action; readonly source: Rule['source'] }

/** A rule that matches, with the parts of its rank. */
export type JudgedMatch = JudgedRule & {
  readonly rank: number
  readonly level: MatchingRule['level']
  readonly specificity: number
  readonly pinned: boolean
  readonly unconfirmed: boolean
  readonly decides: boolean
}

/** Returns a decision as plain data. `matches` adds every rule that matches. */
export function judgedCall(
  { verdict, refusal, rules, limits, inherited }: Decision,
  call: Call,
  { matches = false }: { readonly matches?: boolean } = {},
): JudgedCall {
  const layer = (name: JudgedLayer['layer'], judgement: Judgement): JudgedLayer => ({
    layer: name,
    action: judgement.verdict.action,
    subjects: judgement.subjects
      // Words that may be a path or a command are listed only where a rule restricts them.
      .filter(({ subject, verdict: own }) => own.action !== 'allow' || !isGuess(subject))
      .slice(0, maxSubjects)
      .map((one) => judgedPart(one, call, matches)),
  })
  const layers = [layer('rules', rules)]
  for (const one of limits) layers.push(layer('limit', one))
  for (const one of inherited) layers.push(layer('parent', one))
  return refusal === undefined
    ? { ...plainVerdict(verdict), layers }
    : { ...plainVerdict(verdict), refusal: refusal.message, layers }
}

function judgedPart(one: SubjectJudgement, call: Call, withMatches: boolean): JudgedPart {
  const { subject, verdict, decidedBy, rule, matches } = one
  return {
    subject: describeSubject(subject, call),
    ...plainVerdict(verdict),
    decidedBy,
    ...(rule !== undefined && { rule: judgedRule(rule) }),
    ...(withMatches && { matches: matches.map((match) => judgedMatch(match, rule)) }),
  }
}

function judgedMatch(
  { rule, rank, level, specificity, pinned }: MatchingRule,
  decided: Rule | undefined,
): JudgedMatch {
  return {
    ...judgedRule(rule),
    rank,
    level,
    specificity,
    pinned,
    unconfirmed: rule.untrusted === true,
    decides: rule === decided,
  }
}

function judgedRule(rule: Rule): JudgedRule {
  return { text: formatRule(rule), action: rule.action, source: rule.source }
}

function plainVerdict(verdict: Verdict): Pick<JudgedCall, 'action' | 'reason'> {
  const reason = verdict.action === 'allow' ? undefined : verdict.reason
  return reason === undefined ? { action: verdict.action } : { action: verdict.action, reason }
}

const maxSubjects = 50
