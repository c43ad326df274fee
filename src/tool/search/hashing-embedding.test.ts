import { describe, expect, it } from 'vitest'
import { createHashingEmbedding } from './hashing-embedding.js'
import { VectorBlock } from './vector-block.js'

describe('createHashingEmbedding', () => {
  it('names its kind: local, and not semantic', () => {
    expect(createHashingEmbedding()).toMatchObject({
      provider: 'capstan',
      model: 'hashing-256',
      semantic: false,
      dimensions: 256,
    })
  })

  it('returns the same vector for the same text, of the configured length', async () => {
    const model = createHashingEmbedding({ dimensions: 64 })
    const [a, b] = await model.embedTexts(['Read a file', 'Read a file'])
    expect(a).toEqual(b)
    expect(a?.vector).toHaveLength(64)
  })

  it('scores texts that share words higher than texts that do not', async () => {
    const model = createHashingEmbedding()
    const [query, near, far] = await model.embedTexts([
      'read a file from disk',
      'files: reading them',
      'send an invoice by mail',
    ])
    const block = new VectorBlock()
    block.push(near?.vector ?? [])
    block.push(far?.vector ?? [])
    const [nearScore = 0, farScore = 0] = block.scores(query?.vector ?? [])
    expect(nearScore).toBeGreaterThan(farScore + 0.2)
  })

  it('rejects invalid dimensions', () => {
    for (const dimensions of [0, 7, 1.5, Number.NaN])
      expect(() => createHashingEmbedding({ dimensions })).toThrow(RangeError)
  })
})
