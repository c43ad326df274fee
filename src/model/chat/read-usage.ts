import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ModelUsage } from '../model.js'

/**
 * Returns the usage of a chunk from any of the fields where servers put it: next to the choices, inside a choice, or in
 * a field of their own.
 */
export function readUsage(chunk: Record<string, unknown>, choice: unknown): ModelUsage | undefined {
  const usage = chunk['usage'] ?? (isRecord(choice) ? choice['usage'] : undefined) ?? corner(chunk['x_groq'])
  if (!isRecord(usage)) return undefined
  const inputTokens = count(usage['prompt_tokens'])
  const outputTokens = count(usage['completion_tokens'])
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const prompt = recordOr(usage['prompt_tokens_details'])
  const completion = recordOr(usage['completion_tokens_details'])
  const cached = count(prompt['cached_tokens'] ?? usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens'])
  const written = count(prompt['cache_write_tokens'])
  const reasoning = count(completion['reasoning_tokens'])
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    totalTokens: count(usage['total_tokens']) ?? (inputTokens ?? 0) + (outputTokens ?? 0),
    ...omitUndefined({ cachedInputTokens: cached, cacheWriteTokens: written, reasoningTokens: reasoning }),
  }
}

function corner(value: unknown): unknown {
  return isRecord(value) ? value['usage'] : undefined
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

const empty: Record<string, unknown> = {}

function recordOr(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : empty
}
