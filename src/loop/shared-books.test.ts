import { describe, expect, it } from 'vitest'
import type { Rule } from '../authority/rule.js'
import { sharedBooks } from './shared-books.js'

const rule: Rule = { permission: 'fs.write', pattern: 'src/**', action: 'allow', source: 'session' }
const at = (workspace: string, rules: readonly Rule[] = [rule]) => ({
  rules,
  scope: { variables: { workspace: [workspace] } },
  defaultDecision: 'ask' as const,
})

describe('rule books', () => {
  it('are the same for the same rules in the same place', () => {
    expect(sharedBooks(at('/ship'), undefined)).toBe(sharedBooks(at('/ship'), undefined))
  })

  it('are others elsewhere, for other rules, in another order, mode or decision', () => {
    const first = sharedBooks(at('/ship'), undefined)
    const other: Rule = { ...rule, action: 'deny' }
    const others = [
      sharedBooks(at('/other'), undefined),
      sharedBooks(at('/ship', [other]), undefined),
      sharedBooks(at('/ship', [{ ...rule, pinned: true }]), undefined),
      sharedBooks(at('/ship', [rule, other]), undefined),
      sharedBooks(at('/ship', [other, rule]), undefined),
      sharedBooks(at('/ship'), 'plan'),
      sharedBooks({ ...at('/ship'), defaultDecision: 'deny' }, undefined),
      sharedBooks({ ...at('/ship'), doubts: 'allow' }, undefined),
    ]
    expect(new Set([first, ...others]).size).toBe(others.length + 1)
  })

  it('are kept for a while, not for ever', () => {
    const first = sharedBooks(at('/first'), undefined)
    for (let n = 0; n < 100; n++) sharedBooks(at(`/place-${n}`), undefined)
    expect(sharedBooks(at('/first'), undefined)).not.toBe(first)
  })
})
