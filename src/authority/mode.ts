import { sessionTools } from './default-rules.js'
import type { Rule } from './rule.js'
import { createRuleBook, type RuleBook, type RuleBookOptions } from './rule-book.js'
import type { Action } from './verdict.js'

export const modeNames = ['plan', 'read-only', 'accept-edits', 'full'] as const
export type ModeName = (typeof modeNames)[number]

/**
 * A mode is a set of permissions, never a prompt: it binds every tool, the shell, programs and children alike, because all of them
 * walk the gate.
 */
export type Mode = {
  readonly name: ModeName
  readonly description: string
  /** Rules that the mode brings; the lowest of equals, so that whatever else was said still counts. */
  readonly adds: readonly Rule[]
  /** All that may be done in this mode; what it does not allow is denied, whatever other rules say. */
  readonly only?: readonly Rule[]
  /** What becomes of a command that is not fully understood; where the mode has no `only`, a host may say otherwise. */
  readonly doubts: Action
}

export const modes: Readonly<Record<ModeName, Mode>> = {
  plan: {
    name: 'plan',
    description: 'looks and thinks; changes nothing and runs no command',
    adds: [],
    only: looking(),
    doubts: 'deny',
  },
  'read-only': {
    name: 'read-only',
    description: 'looks, also with commands known to change nothing',
    adds: [],
    only: [...looking(), ...readingCommands().map((pattern) => allow('shell.run', pattern))],
    doubts: 'deny',
  },
  'accept-edits': {
    name: 'accept-edits',
    description: 'edits files in the workspace without asking',
    adds: [allow('fs.write', '*')],
    doubts: 'ask',
  },
  full: {
    name: 'full',
    // What is not understood may be the very thing that a rule holds back: `$x -rf src`, where `rm -rf*` is denied.
    description:
      'does what no rule forbids without asking, except for commands that are not fully understood',
    adds: [allow('*', '*')],
    doubts: 'ask',
  },
}

/**
 * The rule book of a session in a mode, and the limit that the mode sets beside it. `doubts: 'allow'` in the options lets commands
 * pass that are not fully understood, past every rule that could have concerned them; no mode does that by itself.
 */
export function createModeBooks(
  options: RuleBookOptions,
  mode: Mode | undefined,
): { readonly book: RuleBook; readonly limit?: RuleBook } {
  if (mode === undefined) return { book: createRuleBook(options) }
  const book = createRuleBook({
    ...options,
    rules: [...mode.adds, ...options.rules],
    doubts: options.doubts ?? (mode.only === undefined ? mode.doubts : 'ask'),
  })
  if (mode.only === undefined) return { book }
  const limit = createRuleBook({
    rules: mode.only,
    scope: options.scope,
    defaultDecision: 'deny',
    doubts: mode.doubts,
    anyPort: true,
    defaultReason: `the mode "${mode.name}" ${mode.description}`,
  })
  return { book, limit }
}

function looking(): Rule[] {
  // Tools that only start others are let through: each call they make walks the gate in the same mode.
  const tools = [...sessionTools, 'plan', 'plan_exit', 'task', 'parallel_task', 'program', 'batch', 'Skill']
  return [allow('fs.read', '/**'), allow('net.fetch', '*'), ...tools.map(callOf)]
}

/** What the analysis still doubts (an option that writes, an expansion) is denied with the rest. */
function readingCommands(): string[] {
  const names = [
    'ls',
    'cat',
    'head',
    'tail',
    'wc',
    'grep',
    'rg',
    'stat',
    'file',
    'du',
    'df',
    'diff',
    'cmp',
    'tree',
    'which',
    'sort',
    'cut',
    'tr',
    'basename',
    'dirname',
    'realpath',
    'echo',
    'printf',
    'find',
    'jq',
    'uname',
    'true',
    'false',
    'pwd',
    'cd',
  ]
  const git = ['status', 'log', 'diff', 'show', 'blame', 'ls-files', 'rev-parse', 'describe', 'grep']
  const anyArguments = [...names, ...git.map((subcommand) => `git ${subcommand}`)]
  // Sets the clock, too, and not only by an option: `date 010100002020`.
  const exact = ['date', 'date -u', 'date -I', 'date -Iseconds', 'date -R', 'date +%s', 'date +%F']
  return [...anyArguments.flatMap((name) => [name, `${name} *`]), ...exact]
}

function callOf(tool: string): Rule {
  return { ...allow(tool, '*'), callOnly: true }
}

function allow(permission: string, pattern: string): Rule {
  return { permission, pattern, action: 'allow', source: 'manifest' }
}
