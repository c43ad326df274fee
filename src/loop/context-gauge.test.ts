import { describe, expect, it } from 'vitest'
import { estimateMessageTokens } from '../model/estimate-tokens.js'
import type { Message } from '../tool/completion.js'
import { gaugeOf, tokensUsed } from './context-gauge.js'
import { createConversation } from './conversation.js'

const message = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const long = message('word '.repeat(400))

describe('the gauge of a conversation', () => {
  it('exists once for each conversation, and is kept between its runs', () => {
    const conversation = createConversation()
    expect(gaugeOf(conversation)).toBe(gaugeOf(conversation))
    expect(gaugeOf(createConversation())).not.toBe(gaugeOf(conversation))
    expect(gaugeOf(conversation)).toMatchObject({ counted: undefined, correction: 1, failedCompactions: 0 })
  })

  it('estimates until the provider has counted, including what comes before the messages', () => {
    const gauge = gaugeOf(createConversation())
    const alone = tokensUsed(gauge, [long], 0)
    expect(alone).toBeGreaterThan(100)
    expect(tokensUsed(gauge, [long], 50)).toBe(alone + 50)
    gauge.correction = 2
    expect(tokensUsed(gauge, [long], 50)).toBeCloseTo(2 * (alone + 50), -1)
  })

  it('uses the provider’s count, and estimates only what was added since', () => {
    const gauge = gaugeOf(createConversation())
    gauge.counted = { tokens: 1_000, messages: 2 }
    gauge.correction = 1.5
    expect(tokensUsed(gauge, [long, long], 99_999)).toBe(1_000)
    expect(tokensUsed(gauge, [long, long, long], 0)).toBe(
      1_000 + Math.ceil(estimateMessageTokens(long) * 1.5),
    )
  })

  it('estimates again when the conversation is shorter than the counted one', () => {
    const gauge = gaugeOf(createConversation())
    gauge.counted = { tokens: 1_000_000, messages: 10 }
    expect(tokensUsed(gauge, [long], 0)).toBeLessThan(10_000)
  })
})
