import type { EmbeddingModel } from '../tool/search/embedding.js'
import type { PrunePolicy } from './prune.js'
import type { SectionLimits } from './recalled-section.js'
import type { RelevanceWeights } from './search/relevance.js'

/** How a session uses its memory store. */
export type MemoryOptions = {
  /** The limits of the memories that the model is shown with a prompt; `false`: none are shown. */
  readonly recall?: false | Partial<SectionLimits>
  /** Whether every run is remembered when it ends. Off by default, because an answer of a model may not be true. */
  readonly rememberRuns?: boolean
  /**
   * Gives the model the tools `remember`, `recall` and `forget`. Off by default, because untrusted text can make a
   * model save what is not true. Its notes are data in every later prompt, and it can delete only its own.
   */
  readonly tools?: boolean | { readonly maxNotes?: number }
  /** Adds search by meaning to the search by words. */
  readonly embedder?: EmbeddingModel
  /** The maximum number of items in the short-term view. */
  readonly maxShortTerm?: number
  /** The maximum number of items in the working view. */
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
