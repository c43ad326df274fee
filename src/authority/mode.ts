import { sessionTools } from './default-rules.js'
import type { Rule } from './rule.js'
import { createRuleBook, type RuleBook, type RuleBookOptions } from './rule-book.js'
import type { Action } from './verdict.js'

/** The names of the built-in modes. */
export const modeNames = ['plan', 'read-only', 'accept-edits', 'full'] as const
/** The name of a built-in mode. */
export type ModeName = (typeof modeNames)[number]

/**
 * A set of permissions, never a prompt: it applies to every tool, the shell, programs and subagents, because all of
 * them pass the gate.
 */
export type Mode = {
  readonly name: ModeName
  readonly description: string
  /** Rules that the mode adds, with the lowest rank, so that all other rules override them. */
  readonly adds: readonly Rule[]
  /** Everything that this mode allows; the rest is denied, regardless of other rules. */
  readonly only?: readonly Rule[]
  /** The verdict on a command that is not fully understood. A host can override it for modes without `only`. */
  readonly doubts: Action
}

/** The built-in modes by name. */
export const modes: Readonly<Record<ModeName, Mode>> = {
  plan: {
    name: 'plan',
    description: 'reads and plans; changes nothing and runs no command',
    adds: [],
    only: looking(),
    doubts: 'deny',
  },
  'read-only': {
    name: 'read-only',
    description: 'reads, also with commands known to change nothing',
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
    // A command that is not understood may be the one that a rule denies: `$x -rf src`, where `rm -rf*` is denied.
    description:
      'does what no rule forbids without asking, except for commands that are not fully understood',
    adds: [allow('*', '*')],
    doubts: 'ask',
  },
}

/**
 * Returns the rule book of a session in a mode, and the limit of the mode. `doubts: 'allow'` in the options allows
 * commands that are not fully understood, regardless of rules that may apply to them; no mode does that by itself.
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
  // Tools that only start other calls are allowed: each of those calls passes the gate in the same mode.
  const tools = [...sessionTools, 'plan', 'plan_exit', 'task', 'parallel_task', 'program', 'batch', 'Skill']
  return [allow('fs.read', '/**'), allow('net.fetch', '*'), allow('memory.read', '*'), ...tools.map(callOf)]
}

/**
 * Returns patterns for commands that only read. A command with doubts (an option that writes, an expansion) is denied
 * like every other command.
 */
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
  // `date` can also set the clock without an option: `date 010100002020`.
  const exact = ['date', 'date -u', 'date -I', 'date -Iseconds', 'date -R', 'date +%s', 'date +%F']
  return [...anyArguments.flatMap((name) => [name, `${name} *`]), ...exact]
}

function callOf(tool: string): Rule {
  return { ...allow(tool, '*'), callOnly: true }
}

function allow(permission: string, pattern: string): Rule {
  return { permission, pattern, action: 'allow', source: 'manifest' }
}

/** The session's mode, as far as a tool can change it. Only a call that a user approved can leave the mode `plan`. */
export interface RuntimeMode {
  /** Returns the current mode. Undefined: no mode is set. */
  name(): string | undefined
  /** Returns whether a user can approve a plan. */
  canAsk(): boolean
  enterPlan(): Promise<void>
  /** Restores the mode from before `plan`, and returns its name. */
  leavePlan(): Promise<string | undefined>
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    readonly mode?: RuntimeMode
  }
}
