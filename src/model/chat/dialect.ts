import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ReasoningEffort } from '../effort.js'
import type { PromptCache } from '../model.js'
import { type EffortForm, wellKnownProvider } from '../well-known.js'

/** Differences between servers that implement chat completions. */
export type ChatDialect = {
  /** The name of the output limit. Default: `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Whether usage is requested with `stream_options`. Default: true. Some servers reject unknown fields. */
  readonly streamUsage?: boolean
  /** The field in which earlier reasoning is sent back. Default: it is not sent. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning'
  /** Whether ids of tool calls must be nine letters or digits; otherwise any text of up to 40 characters is allowed. */
  readonly shortCallIds?: boolean
  /** How a reasoning level is requested. Default: `reasoning_effort`. */
  readonly effort?: EffortForm
  /** How the prompt cache is controlled. Default: not at all. */
  readonly cache?: 'prompt_cache_retention' | 'cache_control'
  /** The header with the key. Default: `authorization`, with the prefix `Bearer`. */
  readonly keyHeader?: 'api-key'
}

/** Returns the known differences by the provider's name and the model's id. */
export function dialectOf(provider: string, id: string): ChatDialect {
  const name = provider.toLowerCase()
  const effort = wellKnownProvider(name)?.effort
  return {
    ...(/^(openai|gpt|azure)/.test(name) &&
      /^(o\d|gpt-[5-9])/.test(id) && {
        maxTokensField: 'max_completion_tokens',
      }),
    ...(name === 'mistral' && { streamUsage: false, shortCallIds: true }),
    // DeepSeek and Kimi reject a tool round without its reasoning. Only models that reason have sent some, so the field
    // can be set for all.
    ...(/deepseek|kimi|moonshot/.test(`${name} ${id.toLowerCase()}`) && {
      reasoningField: 'reasoning_content',
    }),
    ...(effort !== undefined && effort !== 'own' && { effort }),
    ...(/^(openai|gpt)$/.test(name) && { cache: 'prompt_cache_retention' }),
    ...(name === 'openrouter' && /^~?anthropic\//.test(id) && { cache: 'cache_control' }),
  }
}

/** Returns the fields of a request for a reasoning level. */
export function effortFields(
  effort: ReasoningEffort | undefined,
  form: EffortForm = 'reasoning_effort',
): JsonObject {
  if (effort === undefined) return {}
  const isOn = effort !== 'none'
  const thinking = { type: isOn ? 'enabled' : 'disabled' }
  switch (form) {
    case 'reasoning.effort':
      return { reasoning: { effort } }
    case 'thinking and reasoning_effort':
      return { thinking, ...(isOn && { reasoning_effort: effort }) }
    case 'thinking':
      return { thinking }
    case 'chat_template_kwargs':
      return { chat_template_kwargs: { enable_thinking: isOn, ...(isOn && { reasoning_effort: effort }) } }
    default:
      return { reasoning_effort: effort }
  }
}

/** Returns the fields of a request that control the prompt cache. */
export function cacheFields(
  wanted: PromptCache | undefined,
  form: ChatDialect['cache'],
  sessionId: string | undefined,
): JsonObject {
  if (form === 'cache_control')
    return wanted === 'off'
      ? {}
      : {
          cache_control: { type: 'ephemeral', ...(wanted !== undefined && wanted !== '5m' && { ttl: '1h' }) },
        }
  if (form === undefined || wanted === undefined || wanted === 'off') return {}
  return {
    ...omitUndefined({ prompt_cache_key: sessionId }),
    ...(wanted !== '5m' && { prompt_cache_retention: '24h' }),
  }
}
