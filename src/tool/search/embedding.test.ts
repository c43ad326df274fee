import { describe, expect, it } from 'vitest'
import { type EmbeddingModel, embedInBatches } from './embedding.js'

const texts = Array.from({ length: 10 }, (_, i) => `t${i}`)

/** Records its batches and the maximum number of concurrent ones. */
function watchedModel(maxBatchSize?: number): EmbeddingModel & { batches: string[][]; most: number } {
  let active = 0
  const model = {
    ...(maxBatchSize === undefined ? {} : { maxBatchSize }),
    batches: [] as string[][],
    most: 0,
    async embedTexts(batch: string[]) {
      model.batches.push(batch)
      model.most = Math.max(model.most, ++active)
      await new Promise((resolve) => setImmediate(resolve))
      active--
      return batch.map((document) => ({ document, vector: [1] }))
    },
  }
  return model
}

describe('embedInBatches', () => {
  it('sends all texts in one batch when the model has no limit', async () => {
    const model = watchedModel()
    await embedInBatches(model, texts)
    expect(model.batches).toEqual([texts])
  })

  it('respects the model’s batch size, one batch at a time, in order', async () => {
    const model = watchedModel(3)
    const embeddings = await embedInBatches(model, texts)
    expect(model.batches.map((batch) => batch.length)).toEqual([3, 3, 3, 1])
    expect(model.most).toBe(1)
    expect(embeddings.map(({ document }) => document)).toEqual(texts)
  })

  it('runs as many batches as allowed at once, and keeps the order', async () => {
    const model = watchedModel(2)
    const embeddings = await embedInBatches(model, texts, 3)
    expect(model.most).toBe(3)
    expect(embeddings.map(({ document }) => document)).toEqual(texts)
  })

  it('does not call the model when there is nothing to embed', async () => {
    const model = watchedModel()
    expect(await embedInBatches(model, [])).toEqual([])
    expect(model.batches).toEqual([])
  })

  it('rejects when the model returns another number of vectors than texts', async () => {
    await expect(embedInBatches({ embedTexts: async () => [] }, texts)).rejects.toThrow(
      'The embedding model returned 0 vectors for 10 texts.',
    )
  })

  it('rejects invalid numbers', async () => {
    for (const bad of [0, -1, 1.5, Number.NaN]) {
      await expect(embedInBatches(watchedModel(bad), texts)).rejects.toThrow(RangeError)
      await expect(embedInBatches(watchedModel(), texts, bad)).rejects.toThrow(RangeError)
    }
  })

  it('sends no further batch after one has failed', async () => {
    let calls = 0
    const model: EmbeddingModel = {
      maxBatchSize: 1,
      embedTexts: async () => {
        calls++
        throw new Error('quota')
      },
    }
    await expect(embedInBatches(model, texts, 2)).rejects.toThrow('quota')
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls).toBe(2)
  })
})
