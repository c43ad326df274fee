import { protectedFileRules } from './protected-files.js'
import type { Rule } from './rule.js'

/** Tools that touch nothing but the session itself. Rules for them cover the call alone: what it touches beside has its own. */
export const sessionTools = ['todo', 'skill', 'search_skills', 'tool_search', 'think', 'question'] as const

/**
 * The built-in manifest: what holds when nobody has said anything. Reading inside the workspace and the session's scratch directory
 * and the session's own tools are allowed, files that decide what may run are protected, and everything else is asked about.
 */
export const defaultRules: readonly Rule[] = [
  { permission: 'fs.read', pattern: '*', action: 'allow', source: 'manifest' },
  ...sessionTools.map(
    (permission): Rule => ({ permission, pattern: '*', action: 'allow', source: 'manifest', callOnly: true }),
  ),
  ...protectedFileRules,
]
