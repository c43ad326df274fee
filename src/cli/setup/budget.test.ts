import { describe, expect, it } from 'vitest'
import { budgetGuard, readBudget } from './budget.js'
import { readDuration } from './duration.js'

describe('a budget', () => {
  it.each([
    ['0.50usd', 'usd', 0.5],
    ['$2', 'usd', 2],
    ['1.5 USD', 'usd', 1.5],
    ['200000tokens', 'tokens', 200_000],
    ['200k', 'tokens', 200_000],
    ['1.5m', 'tokens', 1_500_000],
    ['12 tokens', 'tokens', 12],
  ] as const)('is read: %s', (text, unit, limit) => {
    expect(readBudget(text)).toEqual({ unit, limit })
  })

  it.each(['5', '', 'usd', '-1usd', '0usd', '0k', '1e9k', '5eur'])(
    'is refused when its unit is missing or unknown: %j',
    (text) => {
      expect(() => readBudget(text)).toThrow('--budget takes an amount with a unit')
    },
  )

  it('refuses the request that would exceed it, in tokens', () => {
    const guard = budgetGuard({ unit: 'tokens', limit: 1_000 }, undefined)
    expect(guard.checkBeforeLlm?.('s', 600)).toEqual({ decision: 'allow' })
    void guard.recordAfterLlm?.('s', usage(600))
    expect(guard.checkBeforeLlm?.('s', 500)).toMatchObject({
      decision: 'deny',
      resource: 'tokens',
      reason: '600 tokens of 1000 tokens are used, and the next request needs about 500 tokens',
    })
  })

  it('counts dollars if the price of the model is known, and is refused otherwise', () => {
    const guard = budgetGuard({ unit: 'usd', limit: 0.01 }, { input: 3, output: 15 })
    expect(guard.checkBeforeLlm?.('s', 1_000)).toEqual({ decision: 'allow' })
    void guard.recordAfterLlm?.('s', { ...usage(1), costUsd: 0.009 })
    expect(guard.checkBeforeLlm?.('s', 1_000)).toMatchObject({ decision: 'deny', resource: 'usd' })
    expect(guard.onError).toBe('deny')
    expect(() => budgetGuard({ unit: 'usd', limit: 1 }, undefined)).toThrow('needs the price of the model')
  })
})

describe('a duration', () => {
  it('needs a unit', () => {
    expect(['500ms', '90s', '10m', '1.5h'].map((text) => readDuration('timeout', text))).toEqual([
      500, 90_000, 600_000, 5_400_000,
    ])
    for (const text of ['90', '', '0s', '-1s', '1d'])
      expect(() => readDuration('timeout', text)).toThrow('--timeout')
  })
})

function usage(totalTokens: number) {
  return {
    promptTokens: 0,
    completionTokens: 0,
    totalTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: totalTokens,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
  }
}
