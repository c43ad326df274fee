import type { FinishReason } from './model.js'

/** Returns the finish reason for a provider's own word. */
export function finishReasonOf(word: string): FinishReason {
  return words.find(([, own]) => own.includes(word))?.[0] ?? 'other'
}

const words: readonly (readonly [FinishReason, readonly string[]])[] = [
  ['stop', ['stop', 'eos', 'end_turn', 'stop_sequence']],
  ['length', ['length', 'max_tokens', 'model_length', 'model_context_window_exceeded']],
  ['tool_calls', ['tool_calls', 'function_call', 'tool_use']],
  [
    'content_filter',
    ['content_filter', 'content_filtered', 'sensitive', 'safety', 'refusal', 'guardrail_intervened'],
  ],
]
