import { protectedFileRules } from './protected-files.js'
import type { Rule } from './rule.js'

/** Tools whose calls touch nothing by themselves: those they make walk the gate, and those that touch something are judged by that. */
const callers = ['batch', 'bash', 'program', 'task', 'parallel_task', 'Skill'] as const

/** Commands of the tool `git` that only look; it switches off what a repository could make them run. */
const gitLooks = ['status', 'log', 'diff', 'rev-parse'] as const

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

/**
 * The built-in manifest: what holds when nobody has said anything. Reading inside the workspace and the session's scratch directory
 * and the session's own tools are allowed, files that decide what may run are protected, and everything else is asked about.
 */
export const defaultRules: readonly Rule[] = [
  { permission: 'fs.read', pattern: '*', action: 'allow', source: 'manifest' },
  ...[...sessionTools, ...callers].map(
    (permission): Rule => ({ permission, pattern: '*', action: 'allow', source: 'manifest', callOnly: true }),
  ),
  ...gitLooks.map(
    (command): Rule => ({
      permission: 'git',
      pattern: `git ${command}*`,
      action: 'allow',
      source: 'manifest',
    }),
  ),
  ...protectedFileRules,
]
