import { messageOf } from '../tool/errors.js'
import type { Call, ExpandedCall, JudgedSubject } from './call.js'
import { quoteArgv } from './call.js'
import { canonicalJson } from './canonical-json.js'
import { compileRule } from './compiled-rule.js'
import { commandName } from './destructive-command.js'
import { sha256 } from './digest.js'
import type { Host } from './host-pattern.js'
import { type Judgement, judge } from './judge.js'
import { relativeTo } from './lexical-path.js'
import { mcpOfToolId } from './permission.js'
import { formatProjectRules } from './project-rules.js'
import { formatRule, type Rule } from './rule.js'
import { createRuleBook, type RuleBook } from './rule-book.js'
import { type Scope, workspaceRoot } from './scope.js'
import type { CommandUnit } from './shell/analysis.js'

/** What an approval is bound to. Change any of it and the question has to be asked again (SEC-221). */
export type ApprovalFacts = {
  readonly tool: string
  /** The validated arguments, as they will be run. */
  readonly args: unknown
  readonly cwd: string
  readonly session: string
  readonly agent: string
  /** Variables given to the call beside the usual ones. */
  readonly env?: Readonly<Record<string, string>>
  readonly sandbox?: string
  /** Files that decide what the call does, with the digests of their contents. */
  readonly files?: Readonly<Record<string, string>>
}

/** The digest of what was approved; compare it with the digest of what is about to run, right before it runs. */
export async function approvalKey(facts: ApprovalFacts): Promise<string> {
  return sha256(approvalText(facts))
}

/** What is digested: the same text for the same facts and for no others. */
export function approvalText({ env = {}, ...facts }: ApprovalFacts): string {
  const { tool, args, cwd, session, agent, sandbox, files } = facts
  return canonicalJson(['capstan-approval-1', { tool, args, cwd, session, agent, env, sandbox, files }])
}

export type RuleSuggestion =
  | {
      readonly rules: readonly Rule[]
      readonly text: readonly string[]
      /** Why a person should think twice before adding them. */
      readonly caution?: string
    }
  /** Why no rule is offered; `doubt` when a command is not fully understood. */
  | { readonly refused: string; readonly doubt?: string }

/**
 * The rules that "always" would store, to be shown to the person before: this command with these words, this file, this host, and
 * nothing that merely begins alike. None for commands that can run anything (SEC-222).
 */
export function suggestRule(expanded: ExpandedCall, judgement: Judgement, book: RuleBook): RuleSuggestion {
  return rulesFor(expanded, judgement, book, 'store')
}

/**
 * The rules that would let a refused call pass, for the host or user who writes them down: also for a command that can run anything,
 * since the rule names exactly this one, and for what is denied only because no rule covers it.
 */
export function adviseRules(expanded: ExpandedCall, judgement: Judgement, book: RuleBook): RuleSuggestion {
  return rulesFor(expanded, judgement, book, 'write')
}

function rulesFor(
  expanded: ExpandedCall,
  judgement: Judgement,
  book: RuleBook,
  use: 'store' | 'write',
): RuleSuggestion {
  const rules: Rule[] = []
  let caution: string | undefined
  for (const { subject, verdict, decidedBy } of judgement.subjects) {
    const uncovered = use === 'write' && decidedBy === 'default'
    if (verdict.action === 'deny' && !uncovered) return { refused: 'the call is denied' }
    // A wrapper needs no rule of its own, but what it wraps was not asked about for itself.
    const anything = subject.kind === 'command' ? whatRunsAnything(subject.unit) : undefined
    const isWrapper = subject.kind === 'command' && subject.unit.transparent
    if (anything !== undefined && (isWrapper || verdict.action !== 'allow')) {
      if (use === 'store') return { refused: anything }
      caution ??= anything
    }
    if (verdict.action === 'allow') continue
    const doubt = subject.kind === 'command' ? subject.doubts[0] : undefined
    if (doubt !== undefined) return { refused: `the command is not fully understood: ${doubt}`, doubt }
    const suggested = suggestFor(subject, expanded, use)
    if (typeof suggested === 'string') return { refused: suggested }
    const problem = unusable(suggested, expanded.scope)
    if (problem !== undefined) return { refused: problem }
    if (!rules.some((rule) => formatRule(rule) === formatRule(suggested))) rules.push(suggested)
  }
  if (rules.length === 0) return { refused: 'the call needs no rule' }
  // Only what works is offered: a pinned ask, or a word that a pattern cannot say, leaves nothing to promise.
  const tried = createRuleBook({ ...book, rules: [...book.rules, ...rules] })
  if (judge(expanded, tried).verdict.action !== 'allow')
    return { refused: 'no rule can answer this question once and for all' }
  return { rules, text: rules.map(formatRule), ...(caution !== undefined && { caution }) }
}

function suggestFor(
  subject: JudgedSubject,
  { call, scope }: ExpandedCall,
  use: 'store' | 'write',
): Rule | string {
  switch (subject.kind) {
    case 'command': {
      const argv = argvOf(subject.unit)
      if (use === 'store' && argv.some((word) => /[*?\\]/.test(word)))
        return 'a word of the command would be taken for a pattern'
      return rule(permissionOf(call), quoteArgv(argv))
    }
    case 'path': {
      if (subject.doubt !== undefined) return subject.doubt
      if (use === 'store' && subject.origin !== 'tool')
        return 'the command touches files that a rule for the command does not cover'
      const pattern = literalPath(relativeTo(workspaceRoot(scope), subject.path.path))
      // What a command names is judged by the capability, whatever the tool.
      return rule(subject.origin === 'tool' ? permissionOf(call) : `fs.${subject.fs}`, pattern)
    }
    case 'host':
      return subject.host === undefined
        ? 'the host is not known'
        : rule(permissionOf(call), hostText(subject.host))
    case 'capability':
      return rule(subject.name, '*')
    case 'call':
      // The yes is for the tool as the server describes it today.
      return {
        ...rule(permissionOf(call), '*'),
        ...(call.mcp?.digest !== undefined && { digest: call.mcp.digest }),
      }
  }
}

function rule(permission: string, pattern: string): Rule {
  return { permission, pattern, action: 'allow', source: 'project' }
}

/** Why a rule cannot be kept: what "always" stores must be read back, tomorrow and from a file, as what was shown. */
function unusable(suggested: Rule, scope: Scope): string | undefined {
  // The name of a server's tool is the server's choice, and a star in it would stand for all of them.
  if (suggested.permission.includes('*')) return 'the name of the tool would be taken for a pattern'
  try {
    formatProjectRules([suggested])
    compileRule(suggested, 0, scope)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

function permissionOf(call: Call): string {
  const mcp = call.mcp ?? mcpOfToolId(call.tool)
  return mcp === undefined ? call.tool : `mcp:${mcp.server}:${mcp.tool}`
}

/** Another port is another service. The usual two are left out, as people would. */
function hostText({ name, port }: Host): string {
  return port === undefined || port === 80 || port === 443 ? name : `${name}:${port}`
}

/** The pattern of one path. Quotes and parentheses mean something to the reader of the rule, though not to the pattern. */
function literalPath(path: string): string {
  const escaped = path.replace(/[\\*?[\]{}()'"]/g, '\\$&')
  return escaped.startsWith('~') ? `./${escaped}` : escaped
}

const interpreters =
  /^(ba|z|da|k|c|tc|fi)?sh$|^(python|pypy|ruby|perl|php|lua|node|deno|bun|tclsh|awk|gawk|mawk|nawk|sed|osascript|Rscript|irb|ghci|jshell|ed|ex|vi|vim|nvim|emacs|psql|mysql|sqlite|sqlite3)[\d.]*$/
const wrappers = new Set([
  ...[
    'env',
    'xargs',
    'sudo',
    'doas',
    'su',
    'nohup',
    'timeout',
    'time',
    'nice',
    'ionice',
    'watch',
    'parallel',
    'find',
  ],
  ...[
    'eval',
    'exec',
    'source',
    '.',
    'command',
    'builtin',
    'trap',
    'alias',
    'setsid',
    'stdbuf',
    'chroot',
    'unshare',
  ],
  ...[
    'npx',
    'bunx',
    'pnpx',
    'uvx',
    'pipx',
    'ssh',
    'docker',
    'podman',
    'kubectl',
    'tmux',
    'screen',
    'script',
    'make',
  ],
])
const runners: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: new Set(['exec', 'x', 'create', 'init']),
  pnpm: new Set(['exec', 'dlx', 'create']),
  yarn: new Set(['exec', 'dlx', 'create', 'node']),
  uv: new Set(['run', 'tool']),
  cargo: new Set(['run']),
  go: new Set(['run', 'generate']),
  git: new Set(['-c', '-C', 'bisect', 'submodule']),
}

function whatRunsAnything(unit: CommandUnit): string | undefined {
  const argv = argvOf(unit)
  return argv.length > 0 && canRunAnything(commandName(unit), argv)
    ? `${argv[0]} can run anything`
    : undefined
}

function argvOf({ words }: CommandUnit): string[] {
  return words.flatMap(({ value }) => (value === undefined ? [] : [value]))
}

function canRunAnything(name: string, argv: readonly string[]): boolean {
  if (interpreters.test(name) || wrappers.has(name)) return true
  const subcommands = Object.hasOwn(runners, name) ? runners[name] : undefined
  return subcommands !== undefined && argv.slice(1).some((word) => subcommands.has(word))
}
