import { messageOf } from '../tool/errors.js'
import type { Subject } from '../tool/subject.js'
import { expandCall, isGuess, type JudgedSubject } from './call.js'
import { compileHostPattern, type HostPattern, matchesHost } from './host-pattern.js'
import { compilePathPattern, matchesPath, type PathPattern } from './path-pattern.js'
import { languageOf, type PatternLanguage, type Permission, parsePermission } from './permission.js'
import { formatRule, type Rule, RuleError } from './rule.js'
import type { Scope } from './scope.js'
import {
  type CommandPattern,
  compileCommandPattern,
  patternAllows,
  patternDenies,
  patternSpecificity,
} from './shell/command-pattern.js'

/** A rule with its parsed pattern, ready to be matched against subjects. */
export type CompiledRule = {
  readonly rule: Rule
  readonly permission: Permission
  /** Its position in the list it came from. */
  readonly order: number
  /** The pattern is `*`. */
  readonly all: boolean
  readonly path?: PathPattern | undefined
  readonly host?: HostPattern | undefined
  readonly command?: CommandPattern | undefined
}

/**
 * Parses the pattern of a rule in the language of its permission and checks its examples. Throws {@link RuleError}: a
 * rule that cannot be used must not be ignored silently (SEC-042).
 */
export function compileRule(rule: Rule, order: number, scope: Scope): CompiledRule {
  const permission = parsePermission(rule.permission)
  if ('problem' in permission)
    throw new RuleError(`The rule ${formatRule(rule)} is not valid: ${permission.problem}`)
  const language = languageOf(permission)
  const compiled = { rule, permission, order, all: rule.pattern === '*', ...patterns(rule, language, scope) }
  checkExamples(compiled, language, scope)
  return compiled
}

/**
 * Returns whether a rule's pattern matches a subject; the caller selects the rules. Restrictions match broadly,
 * permissions strictly.
 */
export function ruleMatches(compiled: CompiledRule, subject: JudgedSubject): boolean {
  const permits = compiled.rule.action === 'allow'
  const use = permits ? 'permit' : 'restrict'
  if (compiled.rule.callOnly && subject.kind !== 'call') return false
  // A rule for everything does not restrict a word that may not be a path or a command.
  if (!permits && isGuess(subject) && (compiled.all || compiled.path?.specificity === 0)) return false
  switch (subject.kind) {
    case 'path':
      if (compiled.path === undefined) return compiled.all
      // A guessed path can be restricted, but never allowed.
      return matchesPath(compiled.path, subject.path) && !(permits && subject.doubt !== undefined)
    case 'host':
      if (compiled.host === undefined) return compiled.all
      return matchesHost(compiled.host, subject.host, use)
    case 'command':
      if (compiled.command === undefined) return compiled.all
      return permits
        ? patternAllows(compiled.command, subject.unit)
        : patternDenies(compiled.command, subject.unit)
    case 'capability':
    case 'call':
      return compiled.all
  }
}

/** Returns how closely a rule describes a subject of this kind; zero for a rule that matches all. */
export function ruleSpecificity(
  { path, host, command, all }: CompiledRule,
  kind: JudgedSubject['kind'],
): number {
  if (all) return 0
  if (kind === 'path') return path?.specificity ?? 0
  if (kind === 'host') return host?.specificity ?? 0
  if (kind !== 'command' || command === undefined) return 0
  const [exactWords, literals] = patternSpecificity(command)
  return literals * 100 + Math.min(exactWords, 99)
}

function patterns(
  rule: Rule,
  language: PatternLanguage,
  scope: Scope,
): Pick<CompiledRule, 'path' | 'host' | 'command'> {
  const { pattern, action } = rule
  const path = (): PathPattern =>
    compilePathPattern(pattern, {
      scope,
      use: action === 'allow' ? 'permit' : 'restrict',
      loose: rule.loose ?? false,
    })
  // For paths `*` means the session's directories; for everything else it means all.
  if (pattern === '*') return language === 'path' ? { path: path() } : {}
  const read = <Pattern>(compile: () => Pattern): Pattern => {
    try {
      return compile()
    } catch (error) {
      throw new RuleError(`The rule ${JSON.stringify(formatRule(rule))} is not valid: ${messageOf(error)}`, {
        cause: error,
      })
    }
  }
  if (language === 'path') return { path: read(path) }
  if (language === 'host') return { host: read(() => compileHostPattern(pattern)) }
  if (language === 'command') return { command: read(() => compileCommandPattern(pattern)) }
  return read(() => inEveryLanguage(pattern, path))
}

/** For `*`, MCP and unknown tools the subject decides what the pattern means; it can be invalid in some languages. */
function inEveryLanguage(
  pattern: string,
  compilePath: () => PathPattern,
): Pick<CompiledRule, 'path' | 'host' | 'command'> {
  const path = attempt(compilePath)
  const host = attempt(() => compileHostPattern(pattern))
  const command = attempt(() => compileCommandPattern(pattern))
  if (path.value === undefined && host.value === undefined && command.value === undefined) throw path.error
  return {
    path: path.value,
    host: host.value,
    command: command.value,
  }
}

function attempt<Pattern>(compile: () => Pattern): { value?: Pattern; error?: unknown } {
  try {
    return { value: compile() }
  } catch (error) {
    return { error }
  }
}

function checkExamples(compiled: CompiledRule, language: PatternLanguage, scope: Scope): void {
  const { rule } = compiled
  for (const example of rule.match ?? []) {
    if (!exampleMatches(compiled, language, example, scope))
      throw new RuleError(
        `The rule ${formatRule(rule)} does not match its example ${JSON.stringify(example)}`,
      )
  }
  for (const example of rule.not_match ?? []) {
    if (exampleMatches(compiled, language, example, scope))
      throw new RuleError(
        `The rule ${formatRule(rule)} matches ${JSON.stringify(example)}, which it should not`,
      )
  }
}

/** A restriction matches an example if it matches one of its subjects; a permission must match all of them. */
function exampleMatches(
  compiled: CompiledRule,
  language: PatternLanguage,
  example: string,
  scope: Scope,
): boolean {
  const subjects = exampleSubjects(language, example, scope)
  const hits = subjects.filter((subject) => ruleMatches(compiled, subject))
  return compiled.rule.action === 'allow' ? hits.length === subjects.length : hits.length > 0
}

function exampleSubjects(language: PatternLanguage, example: string, scope: Scope): readonly JudgedSubject[] {
  const path: Subject = { fs: 'read', path: example }
  const command: Subject = { shell: { text: example } }
  const written: Readonly<Record<PatternLanguage, Subject>> = {
    path,
    host: { net: example },
    command,
    any: /\s/.test(example) ? command : path,
  }
  const { subjects } = expandCall({ tool: '', subjects: [written[language]] }, scope)
  // The files and hosts that a command names are judged separately.
  return subjects.filter((subject) => !('origin' in subject) || subject.origin === 'tool')
}
