import type { EmbeddingModel } from '../tool/search/embedding.js'
import type { PrunePolicy } from './prune.js'
import type { SectionLimits } from './recalled-section.js'
import type { RelevanceWeights } from './search/relevance.js'

/** How a session uses its memory store. */
export type MemoryOptions = {
  /** What of it the model is offered with a prompt; `false`: nothing. */
  readonly recall?: false | Partial<SectionLimits>
  /** Whether every run is remembered when it ends. Off by default: what a model said may not be true. */
  readonly rememberRuns?: boolean
  /**
   * Gives the model the tools `remember`, `recall` and `forget`. Off by default: a model can be talked into saving what
   * is not true. Its notes are data in every later prompt, and it can delete only its own.
   */
  readonly tools?: boolean | { readonly maxNotes?: number }
  /** Finds by meaning too. */
  readonly embedder?: EmbeddingModel
  /** How many items the short-term view has. */
  readonly maxShortTerm?: number
  /** How many items the working view has. */
  readonly maxWorking?: number
  readonly relevance?: RelevanceWeights
  readonly prunePolicy?: PrunePolicy
  readonly pruneIntervalSecs?: number
}

export const defaultMemory = {
  maxShortTerm: 100,
  maxWorking: 10,
  pruneIntervalSecs: 3600,
  maxNotes: 200,
} as const
