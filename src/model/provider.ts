import type { AccessToken } from './access-token.js'
import type { AiSdkKind } from './ai-sdk/index.js'
import type { AwsAccess } from './bedrock/sign.js'
import { catalogueEntry, factsOfEntry, unknownFacts } from './catalogue/catalogue.js'
import {
  azureEndpoint,
  type ChatDialect,
  chatEndpoint,
  createChatModel,
  zhipuEndpoint,
} from './chat/index.js'
import { hasAuthorization } from './chat/request-headers.js'
import { isLoopback } from './connection/loopback.js'
import { ModelError } from './errors.js'
import type { Model, ModelFacts, ModelPrice, PromptCache } from './model.js'
import type { RateLimit } from './pacer.js'
import { nameOf } from './provider-error.js'
import type { RetryTiming } from './retry.js'
import { checkPrice } from './usage.js'
import type { VertexAccess } from './vertex/vertex-endpoint.js'
import {
  isOwnAddress,
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
  /**
   * A token in place of a key, for example from Microsoft Entra for Azure, or from Google for Vertex AI. A function is
   * called for each request, so that it can refresh the token.
   */
  readonly accessToken?: AccessToken
  /** The region and the credentials of Bedrock. */
  readonly aws?: AwsAccess
  /** The project, the location and the credentials file of Vertex AI. */
  readonly vertex?: VertexAccess
  /** The version of the API, for Azure. Absent: its current one. */
  readonly apiVersion?: string
  /** How long the provider caches the start of requests. Default: the provider's choice. */
  readonly promptCache?: PromptCache
  /** The rate limits for the model, over all sessions that share it. */
  readonly rateLimit?: RateLimit
  readonly headers?: Readonly<Record<string, string>>
  readonly sessionIdHeader?: string
  readonly facts?: Partial<ModelFacts>
  readonly price?: ModelPrice
  /** Differences of a chat-completions server. */
  readonly dialect?: ChatDialect
  /** The URL of an HTTP proxy, or `off`. Default: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment. */
  readonly proxy?: string
  /** A file with certificates (PEM) that are trusted in addition to the usual ones. */
  readonly caFile?: string
  /** Sends the requests in place of Node's client; `proxy` and `caFile` do not apply to it. */
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
  const facts = { ...factsOf(config), ...unencodable[family] }
  if (facts.price !== undefined) checkPrice(facts.price)
  const baseUrl = config.baseUrl ?? known?.baseUrl
  const missing = missingIn(config, family, baseUrl, known)
  if (missing !== undefined) return unusable(config, facts, missing)
  if (family === 'chat' || family === 'zhipu' || family === 'azure')
    return chatModel(config, family, facts, baseUrl ?? '')
  if (family === 'bedrock') return bedrockModel(config, facts)
  if (family === 'vertex') return vertexModel(config, facts)
  return aiSdkModel(config, family, facts)
}

/** Media that the protocol of a family cannot encode, even if a model accepts them. */
const unencodable: Readonly<Partial<Record<ProviderFamily, Partial<ModelFacts>>>> = {
  anthropic: { audio: false, video: false },
  'openai-responses': { audio: false, video: false },
  bedrock: { audio: false },
}

const familyOfApi = {
  chat: 'chat',
  responses: 'openai-responses',
  messages: 'anthropic',
  google: 'google',
} as const satisfies Record<NonNullable<ModelConfig['api']>, ProviderFamily>

/** Returns the facts of a model: from the configuration, then from the catalogue, then the defaults. */
function factsOf(config: ModelConfig): ModelFacts {
  const { provider, id, facts, price } = config
  const entry = catalogueEntry(provider, id)
  const listed = entry && listedFacts(config, factsOfEntry(entry))
  const contextAssumed = facts?.contextTokens === undefined && listed?.contextTokens === undefined
  return {
    ...unknownFacts,
    ...listed,
    ...(contextAssumed && { contextAssumed }),
    ...(enforcesSchemas(config, entry?.structuredOutput) && { structuredOutput: true }),
    ...facts,
    ...(price !== undefined && { price }),
  }
}

/** Returns whether the provider enforces schemas. A gateway or a local server may ignore a schema without an error. */
function enforcesSchemas({ provider, baseUrl }: ModelConfig, listed: boolean | undefined): boolean {
  const native = wellKnownProvider(provider)?.nativeOutput
  if (native === undefined || !isOwnAddress(provider, baseUrl)) return false
  return listed ?? native === 'usually'
}

/**
 * Returns the facts of the catalogue that apply. A gateway or a local server has its own prices, even for models with
 * well-known names.
 */
function listedFacts({ provider, baseUrl }: ModelConfig, listed: Partial<ModelFacts>): Partial<ModelFacts> {
  if (isOwnAddress(provider, baseUrl)) return listed
  const { price: _, ...facts } = listed
  return facts
}

function missingIn(
  config: ModelConfig,
  family: ProviderFamily,
  baseUrl: string | undefined,
  known: WellKnown | undefined,
): ModelError | undefined {
  const { provider, apiKey, accessToken, headers = {} } = config
  if (family === 'azure' && !baseUrl) {
    return new ModelError(
      'model_unavailable',
      `${nameOf(config)} has no address: set baseUrl to that of your resource, such as https://NAME.openai.azure.com`,
    )
  }
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
  if (accessToken !== undefined || family === 'bedrock' || family === 'vertex') return undefined
  const hasKey = (apiKey !== undefined && apiKey.trim() !== '') || Object.keys(headers).some(carriesKey)
  // A local server may need no key; if it does, its error message states it.
  if (hasKey || hasAuthorization(headers) || known === undefined || isLocal(baseUrl)) return undefined
  return new ModelError(
    'model_auth',
    `${nameOf(config)} has no API key: set apiKey of provider "${provider}", for example from the environment variable ${known.env}`,
  )
}

function chatModel(
  config: ModelConfig,
  family: 'chat' | 'zhipu' | 'azure',
  facts: ModelFacts,
  baseUrl: string,
): Model {
  const endpoints = {
    chat: () => chatEndpoint(baseUrl),
    zhipu: () => zhipuEndpoint(baseUrl),
    azure: () => azureEndpoint(baseUrl, config.id, config.apiVersion),
  }
  const dialect = family === 'azure' ? { keyHeader: 'api-key' as const, ...config.dialect } : config.dialect
  return createChatModel({ ...config, baseUrl, endpoint: endpoints[family](), facts, dialect })
}

/** Creates a model whose code is loaded with the first call. Missing settings are reported then. */
function vertexModel(config: ModelConfig, facts: ModelFacts): Model {
  return loadedOnUse(config, facts, async () => {
    const { vertexConfig } = await import('./vertex/vertex-config.js')
    const { endpoint, accessToken } = vertexConfig(config)
    return createLibraryModel({ ...config, accessToken }, 'google', facts, endpoint)
  })
}

/** Creates a model whose code is loaded with the first call, like the packages of other providers. */
function bedrockModel(config: ModelConfig, facts: ModelFacts): Model {
  return loadedOnUse(config, facts, async () => {
    const { createBedrockModel } = await import('./bedrock/bedrock-model.js')
    return createBedrockModel({ ...config, facts })
  })
}

/**
 * Creates a model whose code is loaded with the first call, so that programs without such a provider do not load its
 * package.
 */
function aiSdkModel(config: ModelConfig, kind: AiSdkKind, facts: ModelFacts): Model {
  return loadedOnUse(config, facts, () => createLibraryModel(config, kind, facts))
}

async function createLibraryModel(
  config: ModelConfig,
  kind: AiSdkKind,
  facts: ModelFacts,
  endpoint?: string,
): Promise<Model> {
  const { createAiSdkModel } = await import('./ai-sdk/index.js')
  return createAiSdkModel({ ...config, kind, facts, endpoint })
}

function loadedOnUse({ provider, id }: ModelConfig, facts: ModelFacts, load: () => Promise<Model>): Model {
  let loading: Promise<Model> | undefined
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

function isLocal(url: string | undefined): boolean {
  return url !== undefined && isLoopback(new URL(url))
}
