import { protectedFileRules } from './protected-files.js'
import type { Rule } from './rule.js'

/**
 * Tools whose calls have no effects of their own: the calls they make pass the gate, and their other effects are
 * subjects.
 */
const callers = ['batch', 'bash', 'program', 'task', 'parallel_task', 'Skill'] as const

/** Read-only commands of the tool `git`, which disables everything that a repository could make them run. */
export const gitReads = ['status', 'log', 'diff', 'rev-parse'] as const

/**
 * Tools that touch only the session itself. Rules for them cover the call alone; other subjects of the call need
 * their own rules.
 */
export const sessionTools = [
  'todo',
  'skill',
  'search_skills',
  'tool_search',
  'think',
  'question',
  'generate_object',
] as const

/** Notes across sessions and wake-ups of schedules: tools for them exist only where the host turned them on. */
const optedInCapabilities = ['memory.read', 'memory.write', 'schedule.wake'] as const

/** Matches the session's own output that was too long for the model, and nothing in the workspace. */
export const scratchPattern = '{scratch}/**'

/** Rules of every session: its own tools and output are allowed, and files that decide what can run are protected. */
const sessionRules: readonly Rule[] = [
  { permission: 'fs.read', pattern: scratchPattern, action: 'allow', source: 'manifest' },
  ...[...sessionTools, ...callers].map(
    (permission): Rule => ({ permission, pattern: '*', action: 'allow', source: 'manifest', callOnly: true }),
  ),
  ...optedInCapabilities.map(
    (permission): Rule => ({ permission, pattern: '*', action: 'allow', source: 'manifest' }),
  ),
  ...protectedFileRules,
]

/** The permission to read the workspace. */
const readingRules: readonly Rule[] = [
  { permission: 'fs.read', pattern: '*', action: 'allow', source: 'manifest' },
  ...gitReads.map(
    (command): Rule => ({
      permission: 'git',
      pattern: `git ${command}*`,
      action: 'allow',
      source: 'manifest',
    }),
  ),
]

/**
 * The built-in rules without a stated default decision: reading inside the workspace and the session's own tools are
 * allowed, files that decide what can run are protected, and everything else needs approval.
 */
export const defaultRules: readonly Rule[] = [...readingRules, ...sessionRules]

/** Returns the built-in rules. With a stated default decision, the rule that allows reading is left out. */
export function builtinRules(explicitDefault: boolean): readonly Rule[] {
  return explicitDefault ? sessionRules : defaultRules
}
