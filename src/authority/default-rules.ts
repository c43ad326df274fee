import { protectedFileRules } from './protected-files.js'
import type { Rule } from './rule.js'

/** Tools whose calls touch nothing by themselves: those they make walk the gate, and those that touch something are judged by that. */
const callers = ['batch', 'bash', 'program', 'task', 'parallel_task', 'Skill'] as const

/** Commands of the tool `git` that only look; it switches off what a repository could make them run. */
export const gitReads = ['status', 'log', 'diff', 'rev-parse'] as const

/** Tools that touch nothing but the session itself. Rules for them cover the call alone: what it touches beside has its own. */
export const sessionTools = [
  'todo',
  'skill',
  'search_skills',
  'tool_search',
  'think',
  'question',
  'generate_object',
] as const

/** The session's own output that was too long for the model, and nothing of the workspace. */
export const scratchPattern = '{scratch}/**'

/** What holds in every session: its own tools and its own output are open, and files that decide what may run are protected. */
const sessionRules: readonly Rule[] = [
  { permission: 'fs.read', pattern: scratchPattern, action: 'allow', source: 'manifest' },
  ...[...sessionTools, ...callers].map(
    (permission): Rule => ({ permission, pattern: '*', action: 'allow', source: 'manifest', callOnly: true }),
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
 * The built-in rules where no default decision is stated: reading inside the workspace and the session's own tools are allowed, files
 * that decide what may run are protected, and everything else is asked about.
 */
export const defaultRules: readonly Rule[] = [...readingRules, ...sessionRules]

/** The built-in rules. A default decision that is stated decides about reading, too, so that nothing allows it beforehand. */
export function builtinRules(explicitDefault: boolean): readonly Rule[] {
  return explicitDefault ? sessionRules : defaultRules
}
