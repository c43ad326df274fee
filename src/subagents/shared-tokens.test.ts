import { describe, expect, it, vi } from 'vitest'
import { BudgetExhaustedError } from '../loop/errors.js'
import { noUsage } from '../loop/usage.js'
import { sharedBudget } from './shared-tokens.js'

const inner = () => ({
  beforeModel: vi.fn(async () => undefined),
  afterModel: vi.fn(async () => undefined),
  beforeTool: vi.fn(async () => 'not this one'),
})

describe('sharedBudget', () => {
  it('counts what all of them use, and refuses the next request when it is used up', async () => {
    const tokens = { limitTokens: 10, consumedTokens: 0 }
    const [first, second] = [sharedBudget(inner(), tokens), sharedBudget(inner(), tokens)]
    await first.beforeModel(1)
    await first.afterModel({ ...noUsage, totalTokens: 6 }, undefined, 'p/m')
    await second.beforeModel(1)
    // What is being asked when they are used up is answered.
    await second.afterModel({ ...noUsage, totalTokens: 6 }, undefined, 'p/m')
    expect(tokens.consumedTokens).toBe(12)
    await expect(first.beforeModel(1)).rejects.toThrow(BudgetExhaustedError)
    await expect(second.beforeModel(1)).rejects.toThrow('12 of 10 tokens are used up')
  })

  it('keeps the limits that were there', async () => {
    const own = inner()
    own.beforeModel.mockRejectedValueOnce(new Error('no money'))
    const budget = sharedBudget(own, { limitTokens: 10, consumedTokens: 0 })
    await expect(budget.beforeModel(5)).rejects.toThrow('no money')
    await budget.afterModel(noUsage, 0.5, 'p/m')
    expect(own.afterModel).toHaveBeenCalledWith(noUsage, 0.5, 'p/m')
    expect(await budget.beforeTool('bash')).toBe('not this one')
  })
})
