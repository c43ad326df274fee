import type { AiSdkKind } from './ai-sdk/index.js'
import { catalogueEntry, factsOfEntry } from './catalogue/catalogue.js'
import { type ChatDialect, chatEndpoint, createChatModel, zhipuEndpoint } from './chat/index.js'
import { hasAuthorization } from './chat/request-headers.js'
import { ModelError } from './errors.js'
import type { Model, ModelFacts, ModelPrice } from './model.js'
import { nameOf } from './provider-error.js'
import type { RetryTiming } from './retry.js'
import {
  hasNativeOutput,
  type ProviderFamily,
  providerFamily,
  type WellKnown,
  wellKnownProvider,
} from './well-known.js'

/** The configuration of a model. The provider's name decides the protocol. */
export type ModelConfig = {
  readonly provider: string
  /** The id of the model in requests. */
  readonly id: string
  /** The name shown to users. */
  readonly name?: string
  /** The protocol, if it differs from that of the provider's name. */
  readonly api?: 'chat' | 'responses' | 'messages' | 'google'
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly sessionIdHeader?: string
  readonly facts?: Partial<ModelFacts>
  readonly price?: ModelPrice
  /** Differences of a chat-completions server. */
  readonly dialect?: ChatDialect
  readonly fetch?: typeof globalThis.fetch
  readonly retry?: RetryTiming
}

/**
 * Creates a model by the name of its provider. Unknown names are servers that implement chat completions and need a
 * `baseUrl`. Missing settings are reported at the first call, so that a configuration can list models that are not
 * used.
 *
 * @example
 * ```ts
 * const model = createModel({ provider: 'openai', id: 'gpt-5-mini', apiKey: process.env.OPENAI_API_KEY })
 * ```
 */
export function createModel(config: ModelConfig): Model {
  const family = config.api === undefined ? providerFamily(config.provider) : familyOfApi[config.api]
  const known = wellKnownProvider(config.provider)
  const facts = factsOf(config)
  const baseUrl = config.baseUrl ?? known?.baseUrl
  const missing = missingIn(config, family, baseUrl, known)
  if (missing !== undefined) return unusable(config, facts, missing)
  if (family === 'chat' || family === 'zhipu') return chatModel(config, family, facts, baseUrl ?? '')
  return aiSdkModel(config, family, facts)
}

/** The assumed facts of a model without a description. */
const defaultFacts: ModelFacts = {
  contextTokens: 200_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: false,
  temperature: true,
}

const familyOfApi = {
  chat: 'chat',
  responses: 'openai-responses',
  messages: 'anthropic',
  google: 'google',
} as const satisfies Record<NonNullable<ModelConfig['api']>, ProviderFamily>

/** What the configuration states, then what the catalogue states about the model, then what is assumed. */
function factsOf(config: ModelConfig): ModelFacts {
  const { provider, id, facts, price } = config
  const entry = catalogueEntry(provider, id)
  const listed = entry && factsOfEntry(entry)
  const contextAssumed = facts?.contextTokens === undefined && listed?.contextTokens === undefined
  return {
    ...defaultFacts,
    ...listed,
    ...(contextAssumed && { contextAssumed }),
    ...(isAtOwnAddress(config) && hasNativeOutput(config.provider) && { structuredOutput: true }),
    ...facts,
    ...(price !== undefined && { price }),
  }
}

/** Returns whether the model is at its provider's own address; nothing is known about a server at another address. */
function isAtOwnAddress({ provider, baseUrl }: ModelConfig): boolean {
  return baseUrl === undefined || baseUrl.replace(/\/+$/, '') === wellKnownProvider(provider)?.baseUrl
}

function missingIn(
  config: ModelConfig,
  family: ProviderFamily,
  baseUrl: string | undefined,
  known: WellKnown | undefined,
): ModelError | undefined {
  const { provider, apiKey, headers = {} } = config
  const isChat = family === 'chat' || family === 'zhipu'
  if (isChat && !baseUrl) {
    return new ModelError(
      'model_unavailable',
      `${nameOf(config)} has no address: "${provider}" is not a provider with a known address, so set baseUrl to the server's, such as http://127.0.0.1:8000/v1`,
    )
  }
  if (baseUrl !== undefined && !isHttpUrl(baseUrl)) {
    return new ModelError(
      'model_unavailable',
      `${nameOf(config)} has a baseUrl that is not an http(s) URL: write it as https://host/v1`,
    )
  }
  const hasKey = (apiKey !== undefined && apiKey.trim() !== '') || Object.keys(headers).some(carriesKey)
  // A local server may need no key; if it does, its error says so.
  if (hasKey || hasAuthorization(headers) || known === undefined || isLoopback(baseUrl)) return undefined
  return new ModelError(
    'model_auth',
    `${nameOf(config)} has no API key: set apiKey of provider "${provider}", for example from the environment variable ${known.env}`,
  )
}

function chatModel(config: ModelConfig, family: 'chat' | 'zhipu', facts: ModelFacts, baseUrl: string): Model {
  const { provider, id, apiKey, headers, sessionIdHeader, dialect, fetch, retry } = config
  return createChatModel({
    provider,
    id,
    baseUrl,
    endpoint: family === 'zhipu' ? zhipuEndpoint(baseUrl) : chatEndpoint(baseUrl),
    facts,
    apiKey,
    headers,
    sessionIdHeader,
    dialect,
    fetch,
    retry,
  })
}

/** Loaded with the first call: a program that never uses such a provider does not load its packages. */
function aiSdkModel(config: ModelConfig, kind: AiSdkKind, facts: ModelFacts): Model {
  const { provider, id, apiKey, baseUrl, headers, sessionIdHeader, retry } = config
  let loading: Promise<Model> | undefined
  const load = async (): Promise<Model> => {
    const { createAiSdkModel } = await import('./ai-sdk/index.js')
    return createAiSdkModel({
      provider,
      kind,
      id,
      facts,
      apiKey,
      baseUrl,
      headers,
      sessionIdHeader,
      retry,
    })
  }
  return {
    provider,
    id,
    facts,
    async answer(request, call) {
      loading ??= load()
      return (await loading).answer(request, call)
    },
  }
}

function unusable({ provider, id }: ModelConfig, facts: ModelFacts, error: ModelError): Model {
  return { provider, id, facts, answer: () => Promise.reject(error) }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function carriesKey(header: string): boolean {
  return /^(?:x-)?(?:goog-)?api-key$/i.test(header)
}

function isLoopback(url: string | undefined): boolean {
  if (url === undefined) return false
  const { hostname } = new URL(url)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    hostname.startsWith('127.')
  )
}
