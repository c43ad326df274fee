import type { AnyTool } from '../contract.js'
import type { ToolSet } from '../tool-set.js'
import { type EmbeddingModel, embedInBatches } from './embedding.js'
import { selectTop } from './select-top.js'
import { type EmbedToolsOptions, embedDescribed } from './tool-document.js'
import { indexTools, type ToolRanker, type UpdatableToolIndex } from './tool-index.js'
import { VectorBlock } from './vector-block.js'

/**
 * Creates an in-memory index that finds tools by meaning: by the cosine between the query's vector and the best of
 * each tool's vectors. Rejects when a definition or the embedding model fails.
 */
export function createToolIndex(
  model: EmbeddingModel,
  tools: readonly AnyTool[] | ToolSet,
  options: EmbedToolsOptions = {},
): Promise<UpdatableToolIndex> {
  return indexTools(rankByVectors(model, options), tools, options)
}

function rankByVectors(model: EmbeddingModel, options: EmbedToolsOptions): ToolRanker {
  const block = new VectorBlock()
  /** In the order of their rows; the rows of a tool are adjacent. */
  let entries: { id: string; rows: number }[] = []

  return {
    async stage(tools) {
      const records = await embedDescribed(model, tools, options)
      const dimensions = block.dimensions || (records[0]?.embeddings[0]?.vector.length ?? 0)
      for (const { id, embeddings } of records) {
        for (const { vector } of embeddings) block.assertFits(vector, `tool "${id}"`, dimensions)
      }
      return () => {
        for (const { id, embeddings } of records) {
          for (const { vector } of embeddings) block.push(vector)
          entries.push({ id, rows: embeddings.length })
        }
      }
    },
    drop(toolName) {
      let first = 0
      entries = entries.filter(({ id, rows }) => {
        if (id === toolName) block.remove(first, rows)
        else first += rows
        return id !== toolName
      })
    },
    async rank(query, topK, threshold, fits) {
      if (entries.length === 0) return []
      const [embedding] = await embedInBatches(model, [query])
      const scores = block.scores(embedding?.vector ?? [])
      let row = 0
      const best = selectTop(entries.length, topK, (at) => {
        const { id, rows } = entries[at] ?? { id: '', rows: 0 }
        let best = -1
        for (const end = row + rows; row < end; row++) {
          const one = scores[row] ?? -1
          if (one > best) best = one
        }
        const score = rounded(best)
        if (threshold !== undefined && score < threshold) return undefined
        return fits === undefined || fits(id) ? score : undefined
      })
      return best.map(({ at, score }) => ({ score, id: entries[at]?.id ?? '' }))
    },
  }
}

/** 32-bit sums differ in the seventh digit with the order of addition; scores equal to six digits are a tie. */
function rounded(score: number): number {
  return Math.round(Math.min(1, Math.max(-1, score)) * 1e6) / 1e6
}
