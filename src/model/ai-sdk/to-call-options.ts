import type { CompletionRequest, ToolChoice } from '../../tool/completion.js'
import { isRecord, type JsonObject, type JsonValue } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { isStrictSchema } from '../chat/strict-schema.js'
import { budgetOfEffort, effortFor } from '../effort.js'
import type { ModelCall, ModelFacts, PromptCache } from '../model.js'
import type { AiSdkCallOptions, AiSdkProviderOptions, AiSdkTool } from './ai-sdk-model.js'
import { markForCache, takesCacheMarks } from './cache-marks.js'
import { toPrompt } from './to-prompt.js'

export type CallTarget = {
  readonly specification: 'v2' | 'v3' | 'v4'
  /** The provider as the model object names it, such as `anthropic.messages`. */
  readonly provider: string
  readonly facts: ModelFacts
  /** The header with the session's id, if the host wants one. */
  readonly sessionIdHeader?: string | undefined
  readonly url?: string | undefined
  /** The id of the model. */
  readonly id?: string | undefined
  readonly promptCache?: PromptCache | undefined
}

/** Converts a request to the options of one call to an AI SDK model. */
export function toCallOptions(
  request: CompletionRequest,
  target: CallTarget,
  call: Pick<ModelCall, 'sessionId' | 'headersFor'>,
  abortSignal: AbortSignal,
): AiSdkCallOptions {
  const { facts, specification } = target
  const tools = facts.tools ? request.tools : []
  const { settings, providerOptions } = additional(request, target, call.sessionId)
  const options: AiSdkCallOptions = {
    ...settings,
    prompt: toPrompt(request, target),
    abortSignal,
    ...(tools.length > 0 && { tools: tools.map((tool) => toTool(tool, specification)) }),
    ...(tools.length > 0 && request.toolChoice !== undefined && { toolChoice: toChoice(request.toolChoice) }),
    ...omitUndefined({ maxOutputTokens: request.maxTokens }),
    ...(facts.temperature && request.temperature !== undefined && { temperature: request.temperature }),
    ...(facts.structuredOutput !== false &&
      request.outputSchema !== undefined && {
        responseFormat: { type: 'json', schema: request.outputSchema, name: 'answer' },
      }),
    ...(Object.keys(providerOptions).length > 0 && { providerOptions }),
    ...headersOf(target, call),
  }
  const { promptCache } = target
  return promptCache !== 'off' && takesCacheMarks(target.provider)
    ? markForCache(options, promptCache)
    : options
}

function headersOf(
  { sessionIdHeader, url = '' }: CallTarget,
  { sessionId, headersFor }: Pick<ModelCall, 'sessionId' | 'headersFor'>,
): Pick<AiSdkCallOptions, 'headers'> {
  const headers = {
    ...headersFor?.(url),
    ...(sessionIdHeader !== undefined && sessionId !== undefined && { [sessionIdHeader]: sessionId }),
  }
  return Object.keys(headers).length > 0 ? { headers } : {}
}

function toTool(
  { name, description, parameters }: CompletionRequest['tools'][number],
  specification: string,
): AiSdkTool {
  // If this is not set, some providers enforce every schema strictly and reject those with optional properties.
  const strict = specification === 'v2' ? {} : { strict: false }
  return { type: 'function', name, description, inputSchema: parameters, ...strict }
}

function toChoice(choice: ToolChoice): JsonObject {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name }
}

const sharedSettings = ['topP', 'topK', 'stopSequences', 'seed', 'presencePenalty', 'frequencyPenalty']

/** Splits additional parameters into settings of every provider, a thinking budget, and the provider's own options. */
function additional(
  request: CompletionRequest,
  target: CallTarget,
  sessionId: string | undefined,
): { settings: JsonObject; providerOptions: AiSdkProviderOptions } {
  const name = optionsName(target.provider)
  const settings: JsonObject = {}
  const own: JsonObject = {
    ...defaultsOf(name, request, target, sessionId),
    ...reasoningOf(name, request, target),
  }
  const others: { [provider: string]: JsonObject } = {}
  for (const [key, value] of Object.entries(request.additionalParams ?? {})) {
    if (key === 'thinkingBudget') Object.assign(own, thinking(name, value))
    else if (key === 'reasoningEffort') continue
    else if (sharedSettings.includes(key)) settings[key] = value
    else if (key === name && isRecord(value)) Object.assign(own, value)
    else if (knownProviders.includes(key) && isRecord(value)) others[key] = value
    else own[key] = value
  }
  return { settings, providerOptions: { ...others, ...(Object.keys(own).length > 0 && { [name]: own }) } }
}

const knownProviders = ['anthropic', 'google', 'openai', 'vertex', 'bedrock', 'azure']

/** Returns the name under which a provider reads its options: `anthropic` for `anthropic.messages`. */
function optionsName(provider: string): string {
  const words = provider.toLowerCase().split(/[.\-/]/)
  return knownProviders.find((name) => words.includes(name)) ?? provider.split('.')[0] ?? provider
}

function defaultsOf(
  name: string,
  { outputSchema }: CompletionRequest,
  { promptCache }: CallTarget,
  sessionId?: string,
): JsonObject {
  if (name !== 'openai') return {}
  return {
    // The history is stored locally: nothing is stored at the provider, and reasoning is sent encrypted within the
    // history.
    store: false,
    ...(sessionId !== undefined && promptCache !== 'off' && { promptCacheKey: sessionId }),
    ...((promptCache === '1h' || promptCache === '24h') && { promptCacheRetention: '24h' }),
    ...(outputSchema !== undefined && { strictJsonSchema: isStrictSchema(outputSchema) }),
  }
}

/** Returns the reasoning level in the provider's own format. */
function reasoningOf(name: string, request: CompletionRequest, { facts, id = '' }: CallTarget): JsonObject {
  // A budget is a number that some providers accept directly, so it is handled separately.
  if (request.additionalParams?.['reasoningEffort'] === undefined) return {}
  const effort = effortFor(request, facts)
  if (effort === undefined) return {}
  const isOn = effort !== 'none'
  switch (name) {
    case 'anthropic': {
      if (!isOn) return { thinking: { type: 'disabled' } }
      // Models with a level above `high` decide themselves how long they reason.
      if (!facts.reasoningLevels?.some((level) => level === 'max' || level === 'xhigh'))
        return { thinking: { type: 'enabled', budgetTokens: budgetOfEffort(effort) } }
      return { thinking: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort }
    }
    case 'google':
    case 'vertex': {
      // Models up to 2.5 accept a number of tokens.
      if (/gemini-(?:1|2)/.test(id))
        return {
          thinkingConfig: {
            thinkingBudget: budgetOfEffort(effort) && Math.min(24_576, budgetOfEffort(effort)),
            includeThoughts: isOn,
          },
        }
      const thinkingLevel = !isOn ? 'minimal' : effort === 'xhigh' || effort === 'max' ? 'high' : effort
      return { thinkingConfig: { thinkingLevel, includeThoughts: isOn } }
    }
    case 'openai':
    case 'azure':
      return { reasoningEffort: effort, ...(isOn && { reasoningSummary: 'auto' }) }
    default:
      return { reasoningEffort: effort }
  }
}

/** Returns the thinking budget in the provider's own format. */
function thinking(name: string, value: JsonValue): JsonObject {
  if (typeof value !== 'number' || !Number.isFinite(value)) return {}
  const budget = Math.max(0, Math.round(value))
  switch (name) {
    case 'anthropic':
      return {
        thinking:
          budget === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: Math.max(1024, budget) },
      }
    case 'google':
    case 'vertex':
      return { thinkingConfig: { thinkingBudget: budget, includeThoughts: budget > 0 } }
    case 'openai':
    case 'azure':
      return { reasoningEffort: effortOf(budget), ...(budget > 0 && { reasoningSummary: 'auto' }) }
    default:
      return { thinkingBudget: budget }
  }
}

/**
 * Converts a budget to an effort level, for providers that do not accept tokens. The thresholds match common budgets of
 * other providers.
 */
function effortOf(budget: number): string {
  if (budget < 1024) return 'minimal'
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}
