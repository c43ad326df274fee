/** The usage of the model's context window. All token counts are estimates, scaled to the provider's last count. */
export type ContextUsage = {
  /** `provider/model`. */
  readonly model: string
  /** The context window of the model. */
  readonly windowTokens: number
  /** Whether the window is a guess: neither the catalogue nor the configuration has the model. */
  readonly windowAssumed: boolean
  /** The size of the next request without its prompt: the sum of the parts. */
  readonly usedTokens: number
  /** Whether the provider has counted a part of it. */
  readonly counted: boolean
  readonly parts: readonly ContextPart[]
  readonly compaction: {
    /** Whether compaction starts automatically. */
    readonly auto: boolean
    /** The size in tokens at which compaction starts. */
    readonly atTokens: number
    /** How many tokens the removal of large old tool outputs would free. */
    readonly pruneFreesTokens: number
    /** How many tokens a summary would replace. The summary itself has at most 8,000 tokens. */
    readonly summaryReplacesTokens: number
  }
}

/**
 * One part of the context window: the system prompt, the definitions of tools, files (instruction files, files that
 * tools read, attachments), memories, and the rest of the conversation.
 */
export type ContextPart = {
  readonly name: 'system' | 'tools' | 'files' | 'memory' | 'history'
  readonly tokens: number
  /** The number of tools, files, sections of memories or messages. */
  readonly count: number
  /** The largest items, by name; empty for parts whose items have no names. */
  readonly largest: readonly { readonly name: string; readonly tokens: number }[]
}
