import type { CompletionRequest } from '../../tool/completion.js'
import { type AccessToken, bearerOf } from '../access-token.js'
import { attemptRequest } from '../attempt-request.js'
import type { ModelSettings } from '../connection/connection-options.js'
import { createSender } from '../connection/create-sender.js'
import type { Reply } from '../connection/post.js'
import { ModelError } from '../errors.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts } from '../model.js'
import { Pacer } from '../pacer.js'
import { connectionError, type ModelPlace, refusalError } from '../provider-error.js'
import { retryPolicy, withRetries } from '../retry.js'
import { type ChatDialect, dialectOf } from './dialect.js'
import { chatEndpoint } from './endpoint.js'
import { readAnswer } from './read-answer.js'
import { createBodyWriter } from './request-body.js'
import { chatHeaders, secretsIn } from './request-headers.js'

/** The settings of {@link createChatModel}. */
export type ChatModelOptions = ModelSettings & {
  readonly baseUrl: string
  /** The URL of the endpoint, if it cannot be derived from the base URL. */
  readonly endpoint?: string
  /** The name of a header with the session's id. */
  readonly sessionIdHeader?: string | undefined
  readonly facts: ModelFacts
  /** Differences of this server, which override what its name implies. */
  readonly dialect?: ChatDialect | undefined
  /** A token in place of a key. A function is called for each request, so that it can refresh the token. */
  readonly accessToken?: AccessToken | undefined
  readonly now?: () => number
}

/**
 * Creates a model for any endpoint that implements chat completions. Kept small, because it is the hot path of most
 * runs.
 *
 * @example
 * ```ts
 * const model = createChatModel({ provider: 'ollama', id: 'qwen3', baseUrl: 'http://127.0.0.1:11434', facts })
 * ```
 */
export function createChatModel(options: ChatModelOptions): Model {
  const { provider, id, facts } = options
  const dialect = { ...dialectOf(provider, id), ...options.dialect }
  const url = options.endpoint ?? chatEndpoint(options.baseUrl)
  const secrets = secretsIn(options, url)
  const place: ModelPlace = { provider, id, url, secrets }
  const post = createSender(options, url, secrets)
  const write = createBodyWriter(id, facts, dialect, options.promptCache)
  const parts = { place, pacer: new Pacer(options.rateLimit), retry: options.retry }
  let streamUsage = dialect.streamUsage ?? true

  const attempt = (request: CompletionRequest, call: ModelCall): Promise<ModelAnswer> =>
    attemptRequest(parts, request, call, async ({ builder, watch, pace }) => {
      const reply = await send(write(request, { streamUsage, sessionId: call.sessionId }), call, watch.signal)
      pace.heard(reply.headers)
      if (reply.status < 200 || reply.status > 299) {
        // Loaded on use: most runs have no rejected request.
        const { readRefusal } = await import('./read-refusal.js')
        throw refusalError(place, await readRefusal(reply, options.now))
      }
      return readAnswer({ place, reply, builder, watch, call })
    })

  const send = async (body: string, call: ModelCall, signal: AbortSignal): Promise<Reply> => {
    const authorization = await bearerOf(options.accessToken, secrets)
    const headers = {
      ...call.headersFor?.(url),
      ...chatHeaders({ ...options, keyHeader: dialect.keyHeader }, call.sessionId),
      ...authorization,
    }
    try {
      return await post({ url, headers, body, signal })
    } catch (error) {
      throw connectionError(place, error, false)
    }
  }

  return {
    provider,
    id,
    facts,
    answer: (request, call) =>
      withRetries(
        () =>
          attempt(request, call).catch((error: unknown) => {
            if (!streamUsage || !refusesStreamOptions(error)) throw error
            streamUsage = false
            return attempt(request, call)
          }),
        retryPolicy(call, options.retry),
      ),
  }
}

/** Returns whether the server does not support `stream_options`. Such servers reject the whole request. */
function refusesStreamOptions(error: unknown): boolean {
  return (
    error instanceof ModelError &&
    error.code === 'model_request_refused' &&
    /stream_options|include_usage/.test(error.message)
  )
}
