import { describe, expect, it } from 'vitest'
import { defaultRules } from './default-rules.js'
import { explain, formatExplanation, simulate } from './explain.js'
import { createGrant } from './grant.js'
import { compilePolicy } from './policy.js'
import { createRuleBook } from './rule-book.js'

const scope = { variables: { workspace: ['/w'] }, home: '/home/u' }
const { rules } = compilePolicy({
  deny: ['read(**/.ssh/**)'],
  ask: ['bash(git push*)'],
  allow: ['bash(git *)', 'bash(cat *)'],
})
const book = createRuleBook({ scope, rules: [...defaultRules, ...rules] })

describe('explain', () => {
  it('lists every rule that matched, the answers of grant and watchdog, and the verdict', () => {
    const grant = createGrant({ scope, tools: [{ shell: [{ cmd: '*' }] }] })
    const call = { tool: 'bash', subjects: [{ shell: { text: 'git push && cat ~/.ssh/id_rsa' } }] }
    const explanation = explain(call, { book, grant }, { action: 'ask', reason: 'it looks odd' })
    expect(explanation.verdict.action).toBe('deny')
    expect(explanation.refusal).toBeUndefined()
    expect(formatExplanation(explanation)).toMatchInlineSnapshot(`
      "bash: deny, reading "/home/u/.ssh/id_rsa" is denied by the rule read(**/.ssh/**) (manifest)
        grant: everything it touches is granted
        rules: deny, reading "/home/u/.ssh/id_rsa" is denied by the rule read(**/.ssh/**) (manifest)
          running "git push": ask (by bash(git push*))
            1. ask bash(git push*) (manifest, level tool, specificity 701, decides)
            2. allow bash(git *) (manifest, level tool, specificity 301)
          running "cat ~/.ssh/id_rsa": ask (no rule covers it)
          reading "/home/u/.ssh/id_rsa": deny (by read(**/.ssh/**))
            1. deny read(**/.ssh/**) (manifest, level tool, specificity 10, pinned, applies to other tools too, decides)
        watchdog: ask, it looks odd"
    `)
  })

  it('reports what the grant denies', () => {
    const grant = createGrant({ scope, manifest: { fs: { read: ['src/**'] } } })
    const explanation = explain({ tool: 'read', subjects: [{ fs: 'read', path: 'a' }] }, { book, grant })
    expect(explanation.refusal).toContain('Reading "/w/a" is outside the grant')
    expect(formatExplanation(explanation)).toContain('watchdog: not asked')
  })

  it('shows the rules that apply to a child', () => {
    const child = createRuleBook({
      scope,
      rules: [{ permission: 'bash', pattern: '*', action: 'allow', source: 'session' }],
    })
    const text = formatExplanation(
      explain(
        { tool: 'bash', subjects: [{ shell: { text: 'cat ~/.ssh/x' } }] },
        { book: child, parent: { book } },
      ),
    )
    expect(text).toContain('rules of the parent: deny')
    expect(text).toContain('which applies to subagents too')
  })
})

describe('simulate', () => {
  it('tests a policy on calls', () => {
    const calls = ['git push', 'git log', 'rm x'].map((text) => ({
      tool: 'bash',
      subjects: [{ shell: { text } }],
    }))
    expect(simulate({ scope, rules }, calls).map(({ verdict }) => verdict.action)).toEqual([
      'ask',
      'allow',
      'ask',
    ])
  })
})
