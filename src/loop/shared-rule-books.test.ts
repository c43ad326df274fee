import { describe, expect, it } from 'vitest'
import type { Rule } from '../authority/rule.js'
import { sharedRuleBooks } from './shared-rule-books.js'

const rule: Rule = { permission: 'fs.write', pattern: 'src/**', action: 'allow', source: 'session' }
const at = (workspace: string, rules: readonly Rule[] = [rule]) => ({
  rules,
  scope: { variables: { workspace: [workspace] } },
  defaultDecision: 'ask' as const,
})

describe('rule books', () => {
  it('are the same for the same rules in the same workspace', () => {
    expect(sharedRuleBooks(at('/ship'), undefined)).toBe(sharedRuleBooks(at('/ship'), undefined))
  })

  it('are different for another workspace, other rules, another order, mode or decision', () => {
    const first = sharedRuleBooks(at('/ship'), undefined)
    const other: Rule = { ...rule, action: 'deny' }
    const others = [
      sharedRuleBooks(at('/other'), undefined),
      sharedRuleBooks(at('/ship', [other]), undefined),
      sharedRuleBooks(at('/ship', [{ ...rule, pinned: true }]), undefined),
      sharedRuleBooks(at('/ship', [rule, other]), undefined),
      sharedRuleBooks(at('/ship', [other, rule]), undefined),
      sharedRuleBooks(at('/ship'), 'plan'),
      sharedRuleBooks({ ...at('/ship'), defaultDecision: 'deny' }, undefined),
      sharedRuleBooks({ ...at('/ship'), doubts: 'allow' }, undefined),
    ]
    expect(new Set([first, ...others]).size).toBe(others.length + 1)
  })

  it('are cached for a limited time', () => {
    const first = sharedRuleBooks(at('/first'), undefined)
    for (let n = 0; n < 100; n++) sharedRuleBooks(at(`/place-${n}`), undefined)
    expect(sharedRuleBooks(at('/first'), undefined)).not.toBe(first)
  })
})
