import { describe, expect, it } from 'vitest'
import { compilePolicy, PolicyError } from './policy.js'
import { sharedPolicy } from './shared-policy.js'

const scope = { variables: { workspace: ['/ship'] }, home: '/home/me' }

describe('a policy that sessions share', () => {
  it('is compiled once for equal policies, and equals the result of compilePolicy', () => {
    const policy = () => ({
      deny: ['bash(rm *)'],
      allow: ['read(*)', 'bash(git*)'],
      defaultDecision: 'deny' as const,
    })
    expect(sharedPolicy(policy(), scope)).toBe(sharedPolicy(policy(), scope))
    expect(sharedPolicy(policy(), scope)).toEqual(compilePolicy(policy(), { scope }))
    expect(sharedPolicy({}, scope)).toEqual(compilePolicy({}, { scope }))
  })

  it('is a different one for other rules, another workspace and another default', () => {
    const made = [
      sharedPolicy({ allow: ['read(*)'] }, scope),
      sharedPolicy({ ask: ['read(*)'] }, scope),
      sharedPolicy({ allow: ['read(*)'], enabled: false }, scope),
      sharedPolicy({ allow: ['read(*)'], defaultDecision: 'deny' }, scope),
      sharedPolicy({ allow: ['read(*)'] }, { variables: { workspace: ['/other'] } }),
      sharedPolicy({ allow: ['read(*)'] }),
    ]
    expect(new Set(made).size).toBe(made.length)
  })

  it('uses the current content of a changed object', () => {
    const allow = ['read(*)']
    const policy = { allow }
    const before = sharedPolicy(policy, scope)
    allow[0] = 'read(src/**)'
    expect(sharedPolicy(policy, scope).rules[0]?.pattern).toBe('src/**')
    expect(before.rules[0]?.pattern).toBe('*')
  })

  it('rejects an invalid policy every time, also after a valid one was compiled', () => {
    sharedPolicy({ allow: ['read(*)'] }, scope)
    for (let n = 0; n < 2; n++) {
      expect(() => sharedPolicy({ allow: ['read('] }, scope)).toThrow(PolicyError)
      expect(() => sharedPolicy({ allow: ['read(*)'], alow: undefined } as object, scope)).toThrow('alow')
      expect(() => sharedPolicy({ allow: 'read(*)' } as object, scope)).toThrow('list of strings')
    }
  })
})
