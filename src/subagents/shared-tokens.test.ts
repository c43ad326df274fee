import { describe, expect, it, vi } from 'vitest'
import { BudgetExhaustedError } from '../loop/errors.js'
import { noUsage } from '../loop/usage.js'
import { sharedBudget } from './shared-tokens.js'

const inner = () => ({
  beforeModel: vi.fn(async () => undefined),
  afterModel: vi.fn(async () => undefined),
  abandoned: vi.fn(async () => undefined),
  beforeTool: vi.fn(async () => 'not this one'),
})

const request = { model: 'p/m' }

describe('sharedBudget', () => {
  it('counts the usage of all of them, and refuses the next request when it is used up', async () => {
    const tokens = { limitTokens: 10, consumedTokens: 0 }
    const [first, second] = [sharedBudget(inner(), tokens), sharedBudget(inner(), tokens)]
    await first.beforeModel(1, request)
    await first.afterModel({ ...noUsage, totalTokens: 6 }, undefined, request)
    await second.beforeModel(1, request)
    // What is being asked when they are used up is answered.
    await second.afterModel({ ...noUsage, totalTokens: 6 }, undefined, request)
    expect(tokens.consumedTokens).toBe(12)
    await expect(first.beforeModel(1, request)).rejects.toThrow(BudgetExhaustedError)
    await expect(second.beforeModel(1, request)).rejects.toThrow('12 of 10 tokens are used up')
  })

  it('keeps the existing limits', async () => {
    const own = inner()
    own.beforeModel.mockRejectedValueOnce(new Error('no money'))
    const budget = sharedBudget(own, { limitTokens: 10, consumedTokens: 0 })
    await expect(budget.beforeModel(5, request)).rejects.toThrow('no money')
    await budget.afterModel(noUsage, 0.5, request)
    expect(own.afterModel).toHaveBeenCalledWith(noUsage, 0.5, request)
    expect(await budget.beforeTool('bash')).toBe('not this one')
  })
})
