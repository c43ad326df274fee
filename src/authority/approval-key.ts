import { messageOf } from '../tool/errors.js'
import type { Call, ExpandedCall, JudgedSubject } from './call.js'
import { canonicalJson } from './canonical-json.js'
import { compileRule } from './compiled-rule.js'
import { commandName } from './destructive-command.js'
import { sha256 } from './digest.js'
import type { Host } from './host-pattern.js'
import { type Judgement, judge } from './judge.js'
import { relativeTo } from './lexical-path.js'
import { mcpOfToolId } from './permission.js'
import { formatProjectRules } from './project-rules.js'
import { quoteArgv } from './quote-argv.js'
import { formatRule, type Rule } from './rule.js'
import { addRules, type RuleBook } from './rule-book.js'
import { type Scope, workspaceRoot } from './scope.js'
import type { CommandUnit } from './shell/analysis.js'

/** The facts that an approval is bound to. If any of them changes, the user is asked again (SEC-221). */
export type ApprovalFacts = {
  readonly tool: string
  /** The validated arguments, as they will be run. */
  readonly args: unknown
  readonly cwd: string
  readonly session: string
  readonly agent: string
  /** Environment variables of the call in addition to the usual ones. */
  readonly env?: Readonly<Record<string, string>>
  readonly sandbox?: string
  /** Files that decide what the call does, with digests of their contents. */
  readonly files?: Readonly<Record<string, string>>
}

/** Returns the digest of what was approved. Compare it with the digest of the call right before it runs. */
export async function approvalKey(facts: ApprovalFacts): Promise<string> {
  return sha256(approvalText(facts))
}

/** Returns the text that is digested: equal for equal facts and different for different ones. */
export function approvalText({ env = {}, ...facts }: ApprovalFacts): string {
  const { tool, args, cwd, session, agent, sandbox, files } = facts
  return canonicalJson(['capstan-approval-1', { tool, args, cwd, session, agent, env, sandbox, files }])
}

/** Rules that would answer a question permanently, or why none can. */
export type RuleSuggestion =
  | {
      readonly rules: readonly Rule[]
      readonly text: readonly string[]
      /** A warning to show before the user adds them. */
      readonly caution?: string | undefined
    }
  /** Why no rule is offered; `doubt` is set when a command is not fully understood. */
  | { readonly refused: string; readonly doubt?: string }

/**
 * Returns the rules that "always" would store, to show them to the user first: exactly this command, this file or
 * this host, not others with the same beginning. No rules for commands that can run anything (SEC-222).
 */
export function suggestRule(expanded: ExpandedCall, judgement: Judgement, book: RuleBook): RuleSuggestion {
  return rulesFor(expanded, judgement, book, 'store')
}

/**
 * Returns the rules that would allow a denied call, for a host or user who writes rules. Also for a command that can
 * run anything, because the rule names exactly this command, and for a call that is denied only because no rule
 * covers it.
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
    // A wrapper needs no rule of its own, so it must be checked here: the user was not asked about the wrapped
    // command separately.
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
  // Offer the rules only if they work: no rule can override a pinned ask or cover a word that a pattern cannot
  // express.
  const tried = addRules(book, rules)
  if (judge(expanded, tried).verdict.action !== 'allow')
    return { refused: 'no rule can answer this question permanently' }
  return { rules, text: rules.map(formatRule), caution }
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
        return 'a word of the command would be read as a pattern'
      return rule(permissionOf(call), quoteArgv(argv))
    }
    case 'path': {
      if (subject.doubt !== undefined) return subject.doubt
      if (use === 'store' && subject.origin !== 'tool')
        return 'the command touches files that a rule for the command does not cover'
      const pattern = literalPath(relativeTo(workspaceRoot(scope), subject.path.path))
      // A path that a command names is judged by its capability, for every tool.
      return rule(subject.origin === 'tool' ? permissionOf(call) : `fs.${subject.fs}`, pattern)
    }
    case 'host':
      return subject.host === undefined
        ? 'the host is not known'
        : rule(permissionOf(call), hostText(subject.host))
    case 'capability':
      return rule(subject.name, '*')
    case 'call':
      // The approval covers the tool as the server describes it now.
      return {
        ...rule(permissionOf(call), '*'),
        ...(call.mcp?.digest !== undefined && { digest: call.mcp.digest }),
      }
  }
}

function rule(permission: string, pattern: string): Rule {
  return { permission, pattern, action: 'allow', source: 'project' }
}

/** Returns why a rule cannot be stored: it must be read back, also from a file, as the rule that was shown. */
function unusable(suggested: Rule, scope: Scope): string | undefined {
  // A server chooses the names of its tools, and a star in a name would match all of them.
  if (suggested.permission.includes('*')) return 'the name of the tool would be read as a pattern'
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

/** Formats a host with its port, since another port is another service. The ports 80 and 443 are left out. */
function hostText({ name, port }: Host): string {
  return port === undefined || port === 80 || port === 443 ? name : `${name}:${port}`
}

/** Returns the pattern of one path. Quotes and parentheses are escaped for the parser of the rule. */
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
