import { describe, expect, it } from 'vitest'
import { suggestRule } from './approval-key.js'
import { type Call, expandCall } from './call.js'
import { judge } from './judge.js'
import { formatProjectRules, parseProjectRules } from './project-rules.js'
import { parseRule, type Rule } from './rule.js'
import { createRuleBook } from './rule-book.js'
import { serverToolDigest, whatChanged } from './server-tool.js'

const scope = { variables: { workspace: ['/ship'] as [string] } }
const tool = { description: 'Lists.', parameters: { type: 'object' }, server: { argv: ['x'] } }
const digest = await serverToolDigest(tool)
const other = await serverToolDigest({ ...tool, description: 'Deletes.' })
const call = (mcp: Partial<NonNullable<Call['mcp']>> = {}): Call => ({
  tool: 'mcp__gh__list',
  subjects: [],
  mcp: { server: 'gh', tool: 'list', digest, ...mcp },
})
const rule = (more: Partial<Rule> = {}): Rule => ({
  permission: 'mcp:gh:list',
  pattern: '*',
  action: 'allow',
  source: 'project',
  ...more,
})
const verdict = (rules: Rule[], asked: Call, defaultDecision: 'ask' | 'allow' | 'deny' = 'ask') =>
  judge(asked, createRuleBook({ rules, scope, defaultDecision })).verdict

describe('an approval of a tool of a server', () => {
  it('applies to the tool as it was', () => {
    expect(verdict([rule({ digest })], call())).toEqual({ action: 'allow' })
    expect(verdict([rule({ digest })], call({ digest: other }))).toMatchObject({
      action: 'ask',
      reason: expect.stringContaining('its description changed'),
    })
  })

  it('without a digest applies until the tool changes during the session', () => {
    const changed = 'its parameters changed'
    for (const permission of ['mcp:gh:*', 'mcp:*:*', '*']) {
      expect(verdict([rule({ permission })], call())).toEqual({ action: 'allow' })
      expect(verdict([rule({ permission })], call({ changed }))).toMatchObject({ action: 'ask' })
    }
    expect(verdict([], call({ changed }), 'allow')).toMatchObject({
      action: 'ask',
      reason: expect.stringContaining(changed),
    })
    expect(verdict([rule(), rule({ digest })], call({ changed }))).toEqual({ action: 'allow' })
  })

  it('never overrides a deny, which applies to every form of the tool', () => {
    const deny = rule({ action: 'deny', pinned: true })
    expect(verdict([deny, rule({ digest })], call())).toMatchObject({ action: 'deny' })
    expect(verdict([deny], call({ changed: 'it changed' }))).toMatchObject({ action: 'deny' })
    expect(verdict([], call({ changed: 'it changed' }), 'deny')).toMatchObject({ action: 'deny' })
  })

  it('is offered with the digest, and is equal when read from a file and from a log', () => {
    const book = createRuleBook({ rules: [], scope })
    const expanded = expandCall(call(), scope)
    const offered = suggestRule(expanded, judge(expanded, book), book)
    if (!('rules' in offered)) throw new Error(offered.refused)
    expect(offered.rules).toEqual([rule({ digest })])
    expect(parseProjectRules(formatProjectRules(offered.rules), scope)).toEqual(offered.rules)
    expect(offered.rules.map((one) => parseRule(JSON.parse(JSON.stringify(one))))).toEqual(offered.rules)
    expect(() => parseRule({ ...rule(), digest: 'x\nallow *' })).toThrow('digest')
    expect(() => parseProjectRules('allow mcp:gh:list\n  digest nothing', scope)).toThrow('digest')
  })

  it('says which parts changed', async () => {
    const server = await serverToolDigest({ ...tool, server: { argv: ['y'] }, parameters: {} })
    expect(whatChanged(digest, digest)).toBeUndefined()
    expect(whatChanged(digest, server)).toBe('its parameters and the server it comes from changed')
  })
})
