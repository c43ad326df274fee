import { describe, expect, it } from 'vitest'
import { judge } from './judge.js'
import type { Rule } from './rule.js'
import { addRules, createRuleBook } from './rule-book.js'

const scope = { variables: { workspace: ['/w'] } }
const rules = [
  rule('allow', 'bash', 'git *'),
  rule('deny', 'read', '**/.env'),
  rule('ask', 'fs.write', '**'),
  rule('allow', 'mcp:docs:*', '*'),
]

describe('a rule book with added rules', () => {
  it('is the book that is created with all of them, and the first one stays as it was', () => {
    const first = createRuleBook({ rules, scope, defaultDecision: 'deny', doubts: 'allow' })
    const added = [rule('allow', 'bash', 'npm test'), rule('allow', 'read', '**/.env')]
    const both = addRules(first, added)
    const expected = createRuleBook({
      rules: [...rules, ...added],
      scope,
      defaultDecision: 'deny',
      doubts: 'allow',
    })
    expect(both).toEqual(expected)
    expect(addRules(both, rules)).toEqual(
      createRuleBook({ ...expected, rules: [...expected.rules, ...rules] }),
    )
    expect(first).toEqual(createRuleBook({ rules, scope, defaultDecision: 'deny', doubts: 'allow' }))
    const call = { tool: 'bash', subjects: [{ shell: { text: 'npm test' } }] }
    expect([first, both].map((book) => judge(call, book).verdict.action)).toEqual(['deny', 'allow'])
  })

  it('can be a copy of a book', () => {
    const copy = { ...createRuleBook({ rules, scope }) }
    expect(addRules(copy, [rule('deny', 'bash', 'rm *')]).rules).toHaveLength(rules.length + 1)
  })
})

function rule(action: Rule['action'], permission: string, pattern: string): Rule {
  return { permission, pattern, action, source: 'session' }
}
