import { CapstanError, markErrorClass, messageOf } from '../tool/errors.js'
import { compileRule } from './compiled-rule.js'
import { sha256 } from './digest.js'
import { parsePolicyString } from './policy.js'
import { formatRule, type Rule } from './rule.js'
import type { Scope } from './scope.js'
import { type Action, actions } from './verdict.js'

/**
 * The rules of a project as a file that people edit: one rule a line, its action first. Lines that begin with `#` are comments;
 * indented lines say more about the rule above them.
 *
 * ```
 * # Nobody reads these.
 * deny read(**\/.env*)
 *   match .env.local
 *   not_match src/env.ts
 *   reason secrets of the staging system
 * allow bash(npm test)
 *   added 1767225600000
 * ```
 *
 * A file in a workspace is somebody else's word: until a person has confirmed this very text for this very directory, only its denies
 * and asks count. There is no way to set a default, a mode or trust in it (SEC-140).
 */
export type ProjectRules = {
  readonly rules: readonly Rule[]
  /** What a person confirms: this text in this directory, and no other. */
  readonly confirmation: string
  readonly confirmed: boolean
}

/** A line of a rule file that cannot be used. */
export class ProjectRulesError extends CapstanError {
  readonly line: number

  constructor(line: number, problem: string, options?: { cause?: unknown }) {
    super('invalid_project_rules', `Line ${line} of the project's rules: ${problem}`, options)
    this.line = line
  }
}

markErrorClass(ProjectRulesError, 'ProjectRulesError')

/** Reads a rule file found in a workspace. `root` is the real path of the workspace; `confirmations` are kept outside of it. */
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

/** The name of a text in a directory: changes when either does, so that trust does not outlive what was read (SEC-141, 144, 145). */
export async function projectConfirmation(root: string, text: string): Promise<string> {
  return sha256(`capstan-project-rules-1\0${root}\0${text}`)
}

/** Reads the text of a rule file. Throws {@link ProjectRulesError} with the line; nothing is passed over. */
export function parseProjectRules(text: string, scope: Scope): Rule[] {
  if (text.length > longestFile) throw new ProjectRulesError(1, `longer than ${longestFile} characters`)
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
  for (const { line, rule } of entries) check(rule, line, scope)
  assertNoContradiction(entries)
  return entries.map(({ rule }) => rule)
}

/** The file for a list of rules. What it cannot say (a source, a pin) is left out: the file is a project's, and pins are not its to set. */
export function formatProjectRules(rules: readonly Rule[]): string {
  return rules
    .map((rule) => `${[`${rule.action} ${formatRule(rule)}`, ...details(rule)].join('\n  ')}\n`)
    .join('')
}

type Entry = { readonly line: number; readonly rule: MutableRule }
type MutableRule = { -readonly [Key in keyof Rule]: Rule[Key] }

const longestFile = 1_048_576

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
  if (entry === undefined)
    throw new ProjectRulesError(line, 'says more about a rule, and there is none above it')
  const { rule } = entry
  const [word = ''] = content.split(/\s/, 1)
  const value = content.slice(word.length).trim()
  if (value === '') throw new ProjectRulesError(line, `"${word}" needs a value`)
  if (word === 'match') rule.match = [...(rule.match ?? []), value]
  else if (word === 'not_match') rule.not_match = [...(rule.not_match ?? []), value]
  else if (word === 'reason') rule.reason = value
  else if (word === 'added' && /^\d{1,15}$/.test(value)) rule.added_at = Number(value)
  else
    throw new ProjectRulesError(
      line,
      `${JSON.stringify(word)} is not one of: match, not_match, reason, added <ms>`,
    )
}

function check(rule: Rule, line: number, scope: Scope): void {
  try {
    compileRule(rule, 0, scope)
  } catch (error) {
    throw new ProjectRulesError(line, messageOf(error), { cause: error })
  }
}

/** Rules added at different times may differ: the newest counts. Without times nobody can know which was meant (SEC-042). */
function assertNoContradiction(entries: readonly Entry[]): void {
  const seen = new Map<string, Entry>()
  for (const entry of entries) {
    const key = formatRule(entry.rule)
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

function details({ match = [], not_match = [], reason, added_at }: Rule): string[] {
  return [
    ...match.map((example) => `match ${example}`),
    ...not_match.map((example) => `not_match ${example}`),
    ...(reason === undefined ? [] : [`reason ${reason}`]),
    ...(added_at === undefined ? [] : [`added ${added_at}`]),
  ]
}

function isAction(word: string): word is Action {
  return (actions as readonly string[]).includes(word)
}
