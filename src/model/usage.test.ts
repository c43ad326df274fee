import { describe, expect, it } from 'vitest'
import type { Message } from '../tool/completion.js'
import { correctionOf, estimateMessageTokens, estimateTokens } from './estimate-tokens.js'
import { createModel } from './provider.js'
import { costOf } from './usage.js'

describe('usage', () => {
  it('costs what its tokens cost, cached ones at their own price', () => {
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 500_000,
      totalTokens: 1_500_000,
      cachedInputTokens: 400_000,
      cacheWriteTokens: 100_000,
    }
    expect(costOf(usage, { input: 2, output: 10 })).toBeCloseTo(2 + 5)
    expect(costOf(usage, { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 })).toBeCloseTo(
      0.5 * 2 + 0.4 * 0.2 + 0.1 * 2.5 + 5,
    )
  })
})

describe('figures that are not counts', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1e12, '7' as never])(
    'cost nothing and lower no cost: %s',
    (odd) => {
      const price = { input: 2, output: 10, cacheRead: 1, cacheWrite: 3 }
      const usage = { inputTokens: 1_000_000, outputTokens: 0, totalTokens: 1_000_000 }
      expect(costOf({ ...usage, outputTokens: odd }, price)).toBe(2)
      expect(costOf({ ...usage, cachedInputTokens: odd, cacheWriteTokens: odd }, price)).toBe(2)
      expect(costOf({ ...usage, inputTokens: odd }, price)).toBe(0)
    },
  )
})

describe('an estimate', () => {
  const message: Message = { role: 'user', content: [{ type: 'text', text: 'x'.repeat(4000) }] }

  it('counts four characters as a token over everything that is sent', () => {
    const request = {
      instructions: 'i'.repeat(400),
      chatHistory: [message, message],
      documents: [{ id: 'd', text: 'd'.repeat(399) }],
      tools: [],
    }
    expect(estimateMessageTokens(message)).toBe(1004)
    expect(estimateTokens(request)).toBe(100 + 2 * 1004 + 100)
    expect(estimateTokens(request, 1.5)).toBe(Math.ceil((100 + 2 * 1004 + 100) * 1.5))
  })

  it('counts an image at a fixed rate, not by its bytes', () => {
    const image: Message = { role: 'user', content: [{ type: 'image', data: 'a'.repeat(4_000_000) }] }
    expect(estimateMessageTokens(image)).toBeLessThan(2000)
  })

  it('is corrected by the provider’s count, within limits', () => {
    expect(correctionOf(1000, 1300)).toBeCloseTo(1.3)
    expect(correctionOf(1000, 0)).toBe(1)
    expect(correctionOf(1000, 1_000_000)).toBe(4)
  })

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('is refused for a price of %s', (odd) => {
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    expect(() => costOf(usage, { input: odd, output: 1 })).toThrow(RangeError)
    expect(() => costOf(usage, { input: 1, output: 1, cacheRead: odd })).toThrow(RangeError)
    const tiers = [{ aboveInputTokens: 10, input: odd, output: 1 }]
    for (const price of [
      { input: 1, output: odd },
      { input: 1, output: 1, tiers },
    ])
      expect(() => createModel({ provider: 'openai', id: 'm', price })).toThrow(/number of at least 0/)
  })
})
