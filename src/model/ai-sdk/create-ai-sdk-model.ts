import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { type AccessToken, bearerOf } from '../access-token.js'
import { unknownFacts } from '../catalogue/catalogue.js'
import { secretsIn } from '../chat/request-headers.js'
import type { ModelSettings } from '../connection/connection-options.js'
import { createFetch } from '../connection/create-fetch.js'
import { ModelError } from '../errors.js'
import type { Model, ModelFacts } from '../model.js'
import { Pacer } from '../pacer.js'
import { nameOf } from '../provider-error.js'
import type { AiSdkModel } from './ai-sdk-model.js'
import { boundedResponse } from './bounded-response.js'
import { aiSdkModel } from './from-ai-sdk.js'

/** A provider whose protocol is implemented by its AI SDK package. */
export type AiSdkKind = 'anthropic' | 'google' | 'openai-responses'

/** The settings of {@link createAiSdkModel}. */
export type AiSdkModelOptions = ModelSettings & {
  readonly kind: AiSdkKind
  /** Absent: the provider's library reads its usual environment variable. */
  readonly apiKey?: string | undefined
  /**
   * The base URL, with or without the version: `https://api.anthropic.com` and `https://api.anthropic.com/v1` are
   * equivalent.
   */
  readonly baseUrl?: string | undefined
  /** The URL to which the library adds the model, if it cannot be derived from the base URL. */
  readonly endpoint?: string | undefined
  /** A token in place of a key. A function is called for each request, so that it can refresh the token. */
  readonly accessToken?: AccessToken | undefined
  readonly facts?: Partial<ModelFacts>
  /** The name of a header with the session's id. */
  readonly sessionIdHeader?: string | undefined
  /** Loads the provider's library. Default: the installed package. */
  readonly load?: (kind: AiSdkKind) => Promise<ProviderLibrary>
}

/** Creates the model objects of one provider. */
export type ProviderLibrary = (settings: LibrarySettings) => (id: string) => AiSdkModel
export type LibrarySettings = {
  readonly apiKey?: string
  readonly baseURL: string
  readonly headers?: Record<string, string>
  readonly fetch: typeof globalThis.fetch
}

/**
 * Creates a model of a provider with its own protocol: Anthropic messages, Google generate-content, OpenAI responses.
 * The provider's library is an optional package, loaded with the first request.
 *
 * @example
 * ```ts
 * const model = createAiSdkModel({ provider: 'anthropic', kind: 'anthropic', id: 'claude-sonnet-4-5', apiKey })
 * ```
 */
export function createAiSdkModel(options: AiSdkModelOptions): Model {
  const { provider, kind, id, sessionIdHeader, retry, promptCache, load = loadLibrary } = options
  const home = options.baseUrl === undefined ? homes[kind] : versioned(options.baseUrl, kind)
  const url = options.endpoint ?? home
  const secrets = secretsIn(options, url)
  const place = { provider, id, url, secrets }
  const fetch = withToken(options.accessToken, secrets, createFetch(options, url, secrets))
  let made: Promise<AiSdkModel> | undefined
  const make = async (): Promise<AiSdkModel> => {
    try {
      return (await load(kind))(settingsOf({ ...options, fetch }, url, nameOf(place)))(id)
    } catch (error) {
      // The next request tries again: the package may have been installed meanwhile.
      made = undefined
      throw isMissing(error) ? missingPackage(place, kind, error) : error
    }
  }
  return aiSdkModel({
    place,
    facts: { ...unknownFacts, reasoning: true, ...options.facts },
    mustSayWhy: true,
    load: () => {
      made ??= make()
      return made
    },
    sessionIdHeader,
    retry,
    promptCache,
    pacer: new Pacer(options.rateLimit),
  })
}

const homes: Readonly<Record<AiSdkKind, string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-responses': 'https://api.openai.com/v1',
}

const packages: Readonly<Record<AiSdkKind, string>> = {
  anthropic: '@ai-sdk/anthropic',
  google: '@ai-sdk/google',
  'openai-responses': '@ai-sdk/openai',
}

async function loadLibrary(kind: AiSdkKind): Promise<ProviderLibrary> {
  switch (kind) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return (settings) => createAnthropic(settings)
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      return (settings) => createGoogleGenerativeAI(settings)
    }
    case 'openai-responses': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return (settings) => {
        const provider = createOpenAI(settings)
        return (id) => provider.responses(id)
      }
    }
  }
}

/** Adds the version to a base URL, because the libraries append only the name of the endpoint. */
function versioned(baseUrl: string, kind: AiSdkKind): string {
  const base = baseUrl
    .trim()
    .replace(/\/+$/, '')
    .replace(/\/(?:messages|responses)$/, '')
  if (/\/v\d+\w*$/.test(base)) return base
  return `${base}/${kind === 'google' ? 'v1beta' : 'v1'}`
}

function settingsOf(
  { apiKey, accessToken, headers, fetch }: AiSdkModelOptions & Pick<LibrarySettings, 'fetch'>,
  url: string,
  name: string,
): LibrarySettings {
  return {
    baseURL: url,
    ...(apiKey !== undefined && { apiKey: apiKey.trim() }),
    // The libraries require a key; the token replaces its header.
    ...(accessToken !== undefined && { apiKey: 'token' }),
    ...(headers !== undefined && { headers: { ...headers } }),
    // A redirect would send the conversation, and perhaps the key, to an address that is not configured.
    fetch: async (input, init) => boundedResponse(name, await fetch(input, { ...init, redirect: 'manual' })),
  }
}

/** Sends a token in place of the key of a library. */
function withToken(
  token: AccessToken | undefined,
  secrets: string[],
  fetch: typeof globalThis.fetch,
): typeof globalThis.fetch {
  if (token === undefined) return fetch
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    for (const name of ['x-goog-api-key', 'x-api-key']) headers.delete(name)
    const bearer = await bearerOf(token, secrets)
    if (bearer !== undefined) headers.set('authorization', bearer.authorization)
    return fetch(input, { ...init, headers })
  }
}

function isMissing(error: unknown): boolean {
  const code = isObject(error) ? error['code'] : undefined
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}

function missingPackage(
  place: { provider: string; id: string },
  kind: AiSdkKind,
  cause: unknown,
): ModelError {
  const name = packages[kind]
  return new ModelError(
    'model_unavailable',
    `${nameOf(place)} needs the package "${name}", which is not installed: run 'npm install "${name}@^3 || ^4" zod' (${messageOf(cause)})`,
    { cause },
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) || value instanceof Error
}
