import { messageOf } from '../tool/errors.js'
import { parsePolicyString } from './policy.js'
import { formatRule } from './rule.js'

export type ToolList = {
  /** Policy strings, without duplicates. */
  readonly rules: readonly string[]
  /** Entries that could not be parsed and were left out: less is allowed, never more. */
  readonly problems: readonly string[]
}

/**
 * Reads the tools that a skill or an agent names: a list, or a text with entries separated by commas or blanks.
 * `Read`, `Bash(git *)` and `Bash(git:*)` of other systems become equivalent rules.
 *
 * @example
 * readToolList('Read, Bash(git status), Bash(npm test:*)').rules
 * // ['read', 'bash(git status)', 'bash(npm test)', 'bash(npm test *)']
 */
export function readToolList(value: unknown): ToolList {
  if (value === undefined || value === null) return { rules: [], problems: [] }
  const entries = typeof value === 'string' ? splitEntries(value) : value
  if (!Array.isArray(entries))
    return { rules: [], problems: ['a list of tools must be a text or a list of texts'] }
  const rules: string[] = []
  const problems: string[] = []
  for (const entry of entries) {
    if (typeof entry !== 'string') problems.push('a list of tools must be a text or a list of texts')
    else
      try {
        rules.push(...rulesOf(entry.trim()))
      } catch (error) {
        problems.push(messageOf(error))
      }
  }
  return { rules: [...new Set(rules)], problems: [...new Set(problems)] }
}

/** Returns the tools that rules are for; undefined when they are for all tools. */
export function toolsOf(rules: readonly string[]): readonly string[] | undefined {
  const names = rules.map((rule) => /^[^(]*/.exec(rule)?.[0] ?? '')
  if (names.includes('*')) return undefined
  return [...new Set(names.map((name) => name.replace(/^mcp:([^:]+):(.+)$/, 'mcp__$1__$2')))]
}

/** Splits at commas and blanks that are not inside parentheses. */
function splitEntries(text: string): string[] {
  const entries: string[] = []
  let depth = 0
  let entry = ''
  for (const char of text) {
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth <= 0 && /[\s,]/.test(char)) {
      entries.push(entry)
      entry = ''
    } else entry += char
  }
  return [...entries, entry].filter((one) => one !== '')
}

function rulesOf(entry: string): string[] {
  const [, name = '', rest = ''] = /^([^(]*)([\s\S]*)$/.exec(entry) ?? []
  const known = otherNames[name.toLowerCase()]
  const rule = parsePolicyString(`${known ?? name}${rest}`)
  const prefix = /^(.*\S):\*$/.exec(rule.pattern)?.[1]
  // `git:*` is `git` with or without further words.
  const patterns = prefix === undefined ? [rule.pattern] : [prefix, `${prefix} *`]
  return patterns.map((pattern) => formatRule({ ...rule, pattern }))
}

/** The names of tools in other systems. */
const otherNames: Readonly<Record<string, string>> = {
  read: 'read',
  write: 'write',
  edit: 'edit',
  multiedit: 'edit',
  bash: 'bash',
  grep: 'grep',
  glob: 'glob',
  ls: 'ls',
  webfetch: 'web_fetch',
  websearch: 'web_search',
  todowrite: 'todo',
  task: 'task',
  agent: 'task',
  askuserquestion: 'question',
}
