import { CapstanError, markErrorClass, messageOf } from '../tool/errors.js'
import { compileRule } from './compiled-rule.js'
import { sha256 } from './digest.js'
import { parsePolicyString } from './policy.js'
import { formatRule, isToolDigest, type Rule, RuleError } from './rule.js'
import type { Scope } from './scope.js'
import { type Action, actions } from './verdict.js'

/**
 * The rules of a project as a file that people edit: one rule per line, its action first. Lines that begin with `#`
 * are comments; indented lines describe the rule above them.
 *
 * ```
 * # Secrets are never read.
 * deny read(**\/.env*)
 *   match .env.local
 *   not_match src/env.ts
 *   reason secrets of the staging system
 * allow bash(npm test)
 *   added 1767225600000
 * ```
 *
 * A file in a workspace is untrusted: until a user has confirmed this exact text for this exact directory, only its
 * denies and asks count. It cannot set a default, a mode or trust (SEC-140).
 */
export type ProjectRules = {
  readonly rules: readonly Rule[]
  /** What a user confirms: exactly this text in exactly this directory. */
  readonly confirmation: string
  readonly confirmed: boolean
}

/** Thrown for an invalid line of a rule file. */
export class ProjectRulesError extends CapstanError {
  readonly line: number

  constructor(line: number, problem: string, options?: { cause?: unknown }) {
    super('invalid_project_rules', `Line ${line} of the project's rules: ${problem}`, options)
    this.line = line
  }
}

markErrorClass(ProjectRulesError, 'ProjectRulesError')

/** Reads the rule file of a workspace, with its real path as `root`; `confirmations` are stored outside of it. */
export async function loadProjectRules(
  text: string,
  { root, scope, confirmations }: { root: string; scope: Scope; confirmations: ReadonlySet<string> },
): Promise<ProjectRules> {
  const confirmation = await projectConfirmation(root, text)
  const confirmed = confirmations.has(confirmation)
  const rules = parseProjectRules(text, scope)
  return {
    rules: confirmed ? rules : rules.map((rule) => ({ ...rule, untrusted: true })),
    confirmation,
    confirmed,
  }
}

/** Identifies a text in a directory: trust ends when one of the two changes (SEC-141, 144, 145). */
export async function projectConfirmation(root: string, text: string): Promise<string> {
  return sha256(`capstan-project-rules-1\0${root}\0${text}`)
}

/** Parses the text of a rule file. Throws {@link ProjectRulesError} with the line; no line is ignored. */
export function parseProjectRules(text: string, scope: Scope): Rule[] {
  const entries = readEntries(text)
  for (const { line, rule } of entries) check(rule, line, scope)
  assertNoContradiction(entries)
  return entries.map(({ rule }) => rule)
}

function readEntries(text: string): Entry[] {
  if (text.length > maxFileBytes) throw new ProjectRulesError(1, `longer than ${maxFileBytes} characters`)
  const entries: Entry[] = []
  for (const [at, raw] of text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = at + 1
    const content = raw.trim()
    if (content === '' || content.startsWith('#')) continue
    if (/^\s/.test(raw)) detail(entries.at(-1), content, line)
    else entries.push({ line, rule: readRule(content, line) })
  }
  return entries
}

/**
 * Formats a list of rules as a file. Fields that a project cannot set (a source, a pin) are left out. Throws {@link
 * RuleError} for a rule that would not be parsed as the same rule: its text may come from a model, and a line break
 * in it would add rules that no user approved.
 */
export function formatProjectRules(rules: readonly Rule[]): string {
  return rules.map(writeRule).join('')
}

/** Returns whether a text fits on one line of a rule file: no line break, control character or lone surrogate. */
export function isOneLine(text: string): boolean {
  return !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text)
}

/** Returns whether two rules are equal in everything that a rule file can contain. */
export function sameInFile(a: Rule, b: Rule): boolean {
  return JSON.stringify(saidInFile(a)) === JSON.stringify(saidInFile(b))
}

type Entry = { readonly line: number; readonly rule: MutableRule }
type MutableRule = { -readonly [Key in keyof Rule]: Rule[Key] }

const maxFileBytes = 1_048_576

function writeRule(rule: Rule): string {
  const { permission, pattern, reason = '', match = [], not_match = [] } = rule
  const written = JSON.stringify(formatRule(rule))
  if (![permission, pattern, reason, ...match, ...not_match].every(isOneLine))
    throw new RuleError(`The rule ${written} cannot be written to a file: it has a control character in it`)
  // Without it, the rule would also allow the subjects of the call.
  if (rule.callOnly)
    throw new RuleError(`The rule ${written} cannot be written to a file: it covers only the call itself`)
  const text = `${[`${rule.action} ${formatRule(rule)}`, ...details(rule)].join('\n  ')}\n`
  const [read, ...more] = readBack(text, written)
  if (read === undefined || more.length > 0 || !sameInFile(read.rule, rule))
    throw new RuleError(`The rule ${written} cannot be written to a file: it would be read as another one`)
  return text
}

function readBack(text: string, written: string): Entry[] {
  try {
    return readEntries(text)
  } catch (cause) {
    throw new RuleError(`The rule ${written} cannot be written to a file: ${messageOf(cause)}`, { cause })
  }
}

function saidInFile(rule: Rule): unknown {
  const { action, permission, pattern, match = [], not_match = [] } = rule
  const { reason = null, added_at = null, digest = null } = rule
  return [action, permission, pattern, match, not_match, reason, added_at, digest]
}

function readRule(content: string, line: number): MutableRule {
  const [word = ''] = content.split(/\s/, 1)
  if (!isAction(word))
    throw new ProjectRulesError(
      line,
      `begins with ${JSON.stringify(word)}; a rule begins with allow, deny or ask, and nothing else can be set here`,
    )
  const written = content.slice(word.length).trim()
  if (written === '') throw new ProjectRulesError(line, `nothing to ${word}`)
  try {
    return { ...parsePolicyString(written), action: word, source: 'project' }
  } catch (error) {
    throw new ProjectRulesError(line, messageOf(error), { cause: error })
  }
}

function detail(entry: Entry | undefined, content: string, line: number): void {
  if (entry === undefined) throw new ProjectRulesError(line, 'describes a rule, and there is none above it')
  const { rule } = entry
  const [word = ''] = content.split(/\s/, 1)
  const value = content.slice(word.length).trim()
  if (value === '') throw new ProjectRulesError(line, `"${word}" needs a value`)
  if (word === 'match') rule.match = [...(rule.match ?? []), value]
  else if (word === 'not_match') rule.not_match = [...(rule.not_match ?? []), value]
  else if (word === 'reason') rule.reason = value
  else if (word === 'added' && /^\d{1,15}$/.test(value)) rule.added_at = Number(value)
  else if (word === 'digest' && isToolDigest(value)) rule.digest = value
  else
    throw new ProjectRulesError(
      line,
      `${JSON.stringify(word)} is not one of: match, not_match, reason, added <ms>, digest <tool>`,
    )
}

function check(rule: Rule, line: number, scope: Scope): void {
  try {
    compileRule(rule, 0, scope)
  } catch (error) {
    throw new ProjectRulesError(line, messageOf(error), { cause: error })
  }
}

/**
 * Rules added at different times can contradict each other: the newest counts. Without times it is unknown which was
 * intended (SEC-042).
 */
function assertNoContradiction(entries: readonly Entry[]): void {
  const seen = new Map<string, Entry>()
  for (const entry of entries) {
    const key = [formatRule(entry.rule), entry.rule.digest ?? []].flat().join(' ')
    const other = seen.get(key)
    const same = other === undefined || other.rule.action === entry.rule.action
    if (!same && other.rule.added_at === entry.rule.added_at)
      throw new ProjectRulesError(
        entry.line,
        `${key} is both ${other.rule.action} (line ${other.line}) and ${entry.rule.action}`,
      )
    seen.set(key, entry)
  }
}

function details({ match = [], not_match = [], reason, added_at, digest }: Rule): string[] {
  return [
    ...match.map((example) => `match ${example}`),
    ...not_match.map((example) => `not_match ${example}`),
    ...(reason === undefined ? [] : [`reason ${reason}`]),
    ...(added_at === undefined ? [] : [`added ${added_at}`]),
    ...(digest === undefined ? [] : [`digest ${digest}`]),
  ]
}

function isAction(word: string): word is Action {
  return (actions as readonly string[]).includes(word)
}
