import { type Call, type ExpandedCall, expandCall, type JudgedSubject } from './call.js'
import { preparePath } from './path-pattern.js'
import { formatRule, type Rule } from './rule.js'
import {
  allowsReadingBelow,
  hasUnseenRestrictions,
  type MatchingRule,
  matchingRules,
  outdatedApproval,
  type RuleBook,
} from './rule-book.js'
import { whatChanged } from './server-tool.js'
import { readsTrees } from './tree-reader.js'
import { type Action, strictest, strictness, type Verdict } from './verdict.js'

/** The rules' judgement of one subject of a call. */
export type SubjectJudgement = {
  readonly subject: JudgedSubject
  readonly verdict: Verdict
  /** The rule that decided; absent when no rule did. */
  readonly rule?: Rule
  /**
   * What decided: a rule, the default, a doubt, the command's verdict (for a file that a command only names), or the
   * fact that each result is judged (for the directory where a search starts).
   */
  readonly decidedBy: 'rule' | 'default' | 'doubt' | 'command' | 'search'
  /** Every rule that matches, the most specific first. */
  readonly matches: readonly MatchingRule[]
}

/** The verdict of rules on a call, with the judgement of each subject. */
export type Judgement = { readonly verdict: Verdict; readonly subjects: readonly SubjectJudgement[] }

/**
 * Judges a call by rules. For each subject a pinned deny decides, otherwise the most specific rule, otherwise the
 * default. Across subjects the strictest verdict counts. Never throws.
 *
 * @example
 * judge({ tool: 'write', subjects: [{ fs: 'write', path: '.env' }] }, book).verdict
 * // { action: 'deny', reason: 'writing "/ship/.env" is denied by the rule write(**\/.env*) (manifest)' }
 */
export function judge(call: Call | ExpandedCall, book: RuleBook): Judgement {
  const expanded = 'scope' in call ? call : expandCall(call, book.scope)
  const subjects = expanded.subjects.map((subject) => judgeSubject(subject, expanded.call, book))
  if (expanded.invalid !== undefined)
    return { verdict: { action: 'deny', reason: `the call can never run: ${expanded.invalid}` }, subjects }
  return { verdict: strictest(...subjects.map(({ verdict }) => verdict)), subjects }
}

/**
 * Returns a function that decides whether a search can show a result: rules that restrict reading apply to results,
 * not only to the directory where the search starts (SEC-025). The function accepts absolute paths; create it once
 * per call.
 */
export function readableResults(book: RuleBook, call: Call): (path: string) => boolean {
  return (path) => {
    const subject: JudgedSubject = {
      kind: 'path',
      fs: 'read',
      path: preparePath(path),
      // A stated default decides about every file; without one, only restrictions apply.
      origin: book.explicitDefault ? 'tool' : 'argument',
      inside: true,
      written: path,
    }
    return judgeSubject(subject, call, book).verdict.action === 'allow'
  }
}

function judgeSubject(subject: JudgedSubject, call: Call, book: RuleBook): SubjectJudgement {
  const matches = matchingRules(book, call, subject)
  const asked = { subject, matches }
  const pinnedDeny = matches.find(({ pinned, rule }) => pinned && rule.action === 'deny')
  if (pinnedDeny !== undefined) return decided(pinnedDeny)

  // An unconfirmed rule only restricts, below: as the best match it could soften a deny.
  const best = matches.find(({ rule }) => !rule.untrusted)
  const judged = best === undefined ? byDefault() : decided(best, actionOf(best, book))
  const pinnedAsk = matches.find(({ pinned }) => pinned)
  const held = judged.verdict.action === 'allow' && pinnedAsk !== undefined ? decided(pinnedAsk) : judged

  const port = unnamedPort(subject, call, book, matches)
  if (port !== undefined && held.verdict.action === 'allow' && book.doubts !== 'allow') {
    const reason = `reaching ${quoted(subject.kind === 'host' ? subject.text : '')} needs a rule that names the port ${port}, or approval: only 80 and 443 are allowed by a rule without a port`
    return { ...asked, decidedBy: 'doubt', verdict: { action: book.doubts, reason } }
  }
  const doubt =
    doubtOf(subject) ?? unreadScript(subject, best) ?? unseen(subject, call, book) ?? unnamed(subject, book)
  if (doubt === undefined || strictness(book.doubts) <= strictness(held.verdict.action)) return held
  const reason = `${describeSubject(subject, call)} is not fully understood: ${doubt}`
  return { ...asked, decidedBy: 'doubt', verdict: withReason(book.doubts, reason) }

  function byDefault(): SubjectJudgement {
    if (isIncidental(subject) && !isConfined(subject, book))
      return { ...asked, decidedBy: 'command', verdict: { action: 'allow' } }
    if (startsSearch(subject, call, book))
      return { ...asked, decidedBy: 'search', verdict: { action: 'allow' } }
    const change = changeOf(call, book)
    if (change !== undefined && book.defaultDecision !== 'deny') {
      const reason = `${describeSubject(subject, call)} has changed since it was approved: ${change}`
      return { ...asked, decidedBy: 'default', verdict: { action: 'ask', reason } }
    }
    const denied = book.defaultDecision === 'deny' ? `, so it is denied (${book.defaultReason})` : ''
    const reason = `no rule covers ${describeSubject(subject, call)}${denied}`
    return { ...asked, decidedBy: 'default', verdict: withReason(book.defaultDecision, reason) }
  }

  function decided({ rule }: MatchingRule, stated: Action = rule.action): SubjectJudgement {
    const taken = stated === 'deny' && isProse(subject) ? 'ask' : stated
    if (taken === 'allow') return { ...asked, rule, decidedBy: 'rule', verdict: { action: taken } }
    const verb = taken === 'deny' ? 'is denied' : 'needs approval'
    const why = rule.reason === undefined ? '' : `: ${rule.reason}`
    const reason = `${describeSubject(subject, call)} ${verb} by the rule ${formatRule(rule)} (${rule.source})${why}`
    return { ...asked, rule, decidedBy: 'rule', verdict: { action: taken, reason } }
  }
}

/** Returns why a tool of a server needs a new approval. */
function changeOf(call: Call, book: RuleBook): string | undefined {
  if (call.mcp?.digest === undefined) return undefined
  const outdated = outdatedApproval(book, call)?.digest
  return call.mcp.changed ?? (outdated === undefined ? undefined : whatChanged(outdated, call.mcp.digest))
}

/** Describes a subject: `writing "/ship/.env"`. */
export function describeSubject(subject: JudgedSubject, call: Call): string {
  switch (subject.kind) {
    case 'path':
      return `${subject.fs === 'read' ? 'reading' : 'writing'} ${quoted(subject.path.path)}`
    case 'host':
      return `reaching ${quoted(subject.text)}`
    case 'command':
      return `${subject.possible === undefined ? 'running' : 'what may run'} ${quoted(subject.unit.text)}`
    case 'capability':
      return `the capability "${subject.name}"`
    case 'call':
      return `the tool ${quoted(call.tool)}`
  }
}

/** An ask rule for another tool can restrict an allow, but must not weaken a default decision of deny. */
function actionOf({ rule, widened }: MatchingRule, { defaultDecision }: RuleBook): Action {
  const soft = widened && rule.action === 'ask' && strictness(defaultDecision) > strictness('ask')
  return soft ? defaultDecision : rule.action
}

function withReason(action: Action, reason: string): Verdict {
  return action === 'allow' ? { action } : { action, reason }
}

/**
 * Returns whether a subject needs no separate rule: a path that a command only names, unless it is outside the
 * scope (the verdict on the command covers it), and a command that only starts another (the verdict on that one
 * covers it). Redirections always need one, because the pattern that allowed the command does not mention them
 * (SEC-039). Words that may be a path or a command exist only for restrictions.
 */
function isIncidental(subject: JudgedSubject): boolean {
  if (subject.kind === 'host') return subject.origin === 'command'
  if (subject.kind === 'command') {
    if (subject.possible !== undefined) return true
    // `cd src`, `timeout 10 …`, `true`: no effect of its own; what it starts is a separate unit.
    return subject.unit.transparent === true && subject.doubts.length === 0
  }
  if (subject.kind !== 'path') return false
  if (subject.origin === 'part' || subject.origin === 'prose') return true
  if (subject.origin === 'mention') return subject.inside || subject.fs === 'write'
  if (!subject.inside) return false
  // A link is used like its target, which is judged separately; restrictions apply to both names.
  return subject.origin === 'argument' || subject.leadsTo !== undefined
}

/**
 * Returns whether a subject was read from a text that may be a message. A deny then becomes an ask, because the call
 * may not touch the subject at all.
 */
function isProse(subject: JudgedSubject): boolean {
  if (subject.kind === 'command') return subject.possible === 'prose'
  return subject.kind === 'path' && subject.origin === 'prose'
}

/** If the host names the files that can be read, a command's own rule does not cover reading others. */
function isConfined(subject: JudgedSubject, { confinesReading }: RuleBook): boolean {
  if (!confinesReading || subject.kind !== 'path' || subject.fs !== 'read') return false
  return subject.leadsTo === undefined && namedByCommand.includes(subject.origin)
}

const namedByCommand: readonly string[] = ['argument', 'mention']

/** `grep` and `glob` show only readable results, so a search can start in a directory above them. */
function startsSearch(subject: JudgedSubject, call: Call, book: RuleBook): boolean {
  return (
    (call.tool === 'grep' || call.tool === 'glob') &&
    subject.kind === 'path' &&
    subject.fs === 'read' &&
    subject.origin === 'tool' &&
    subject.inside &&
    book.explicitDefault &&
    allowsReadingBelow(book, call, subject.path)
  )
}

/**
 * Returns the port of a fetch that is not 80 or 443 and that no matching rule names. Other ports belong to databases,
 * mail servers and administration pages, which `web_fetch(example.com)` is not meant to allow.
 */
function unnamedPort(
  subject: JudgedSubject,
  call: Call,
  book: RuleBook,
  matches: readonly MatchingRule[],
): number | undefined {
  if (subject.kind !== 'host' || call.tool !== 'web_fetch' || book.anyPort) return undefined
  const port = subject.host?.port
  if (port === undefined || port === 80 || port === 443) return undefined
  const named = matches.some(
    ({ rule }) => rule.action === 'allow' && !rule.untrusted && rule.pattern.endsWith(`:${port}`),
  )
  return named ? undefined : port
}

function doubtOf(subject: JudgedSubject): string | undefined {
  if (subject.kind === 'command') return subject.doubts[0]
  return subject.kind === 'path' ? subject.doubt : undefined
}

/** Returns a doubt for a script file unless the best rule's pattern names the file, not just every command. */
function unreadScript(subject: JudgedSubject, best: MatchingRule | undefined): string | undefined {
  if (subject.kind !== 'command' || subject.unit.scriptFile === undefined) return undefined
  if (best !== undefined && best.rule.pattern !== '*') return undefined
  return `${subject.unit.words[0]?.text} runs a script file, which only a rule that names the file allows`
}

function unseen(subject: JudgedSubject, call: Call, book: RuleBook): string | undefined {
  if (subject.kind !== 'call') return undefined
  return hasUnseenRestrictions(book, call)
    ? 'there are rules for parts of what this tool does, and it does not say what it touches'
    : undefined
}

/** Returns a doubt for a command that reads whole directories: it must not bypass a deny on files in them. */
function unnamed(subject: JudgedSubject, book: RuleBook): string | undefined {
  if (subject.kind !== 'command' || subject.possible !== undefined) return undefined
  if (!book.restrictsReading || !readsTrees(subject.unit)) return undefined
  return 'it reads whole directories, and there are rules against reading parts of them'
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
