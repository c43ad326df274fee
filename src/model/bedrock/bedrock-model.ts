import type { CompletionRequest } from '../../tool/completion.js'
import { isRecord } from '../../tool/json.js'
import type { AnswerBuilder } from '../answer-builder.js'
import { answerTooLarge, defaultAnswerLimits, maxEventChars } from '../answer-limits.js'
import { attemptRequest } from '../attempt-request.js'
import type { AttemptWatch } from '../attempt-watch.js'
import { readRefusal } from '../chat/read-refusal.js'
import { secretsIn } from '../chat/request-headers.js'
import type { ModelSettings } from '../connection/connection-options.js'
import { createSender } from '../connection/create-sender.js'
import type { Reply } from '../connection/post.js'
import { ModelError } from '../errors.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts } from '../model.js'
import { Pacer } from '../pacer.js'
import { connectionError, type ModelPlace, nameOf, refusalError } from '../provider-error.js'
import { retryPolicy, withRetries } from '../retry.js'
import { converseBody } from './converse-body.js'
import { StreamFormatError, type StreamMessage, StreamMessages } from './event-stream.js'
import { ConverseReader } from './read-converse.js'
import { type AwsAccess, signedHeaders } from './sign.js'

export type BedrockModelOptions = ModelSettings & {
  readonly baseUrl?: string | undefined
  /** An API key of Bedrock, in place of signatures. */
  readonly apiKey?: string | undefined
  readonly aws?: AwsAccess | undefined
  readonly facts: ModelFacts
}

/**
 * Creates a model of Amazon Bedrock, which uses its Converse API. Throws a {@link ModelError} for a missing setting.
 */
export function createBedrockModel(options: BedrockModelOptions): Model {
  const missing = missingIn(options)
  if (missing !== undefined) throw missing
  const { provider, id, facts, aws = {}, apiKey = '' } = options
  const base = options.baseUrl ?? `https://bedrock-runtime.${aws.region}.amazonaws.com`
  const url = `${base.replace(/\/+$/, '')}/model/${encodeURIComponent(id)}/converse-stream`
  const own = [aws.secretAccessKey, aws.sessionToken].filter((secret) => secret !== undefined)
  const secrets = [...secretsIn(options, url), ...own]
  const place: ModelPlace = { provider, id, url, secrets }
  const post = createSender(options, url, secrets)
  const parts = { place, pacer: new Pacer(options.rateLimit), retry: options.retry }

  const headersFor = (body: string, call: ModelCall): Record<string, string> => {
    const headers = { ...call.headersFor?.(url), 'content-type': 'application/json', ...options.headers }
    if (apiKey.trim() !== '') return { ...headers, authorization: `Bearer ${apiKey.trim()}` }
    return signedHeaders(aws, { url: new URL(url), headers, body, service: 'bedrock', now: new Date() })
  }

  const send = async (request: CompletionRequest, call: ModelCall, signal: AbortSignal): Promise<Reply> => {
    const body = JSON.stringify(converseBody(request, options))
    try {
      return await post({ url, headers: headersFor(body, call), body, signal })
    } catch (error) {
      throw connectionError(place, error, false)
    }
  }

  const attempt = (request: CompletionRequest, call: ModelCall): Promise<ModelAnswer> =>
    attemptRequest(parts, request, call, async ({ builder, watch, pace }) => {
      const reply = await send(request, call, watch.signal)
      pace.heard(reply.headers)
      if (reply.status !== 200) throw refusalError(place, await readRefusal(reply, undefined))
      return readAnswer(place, reply, builder, watch, call)
    })

  return {
    provider,
    id,
    facts,
    answer: (request, call) => withRetries(() => attempt(request, call), retryPolicy(call, options.retry)),
  }
}

function missingIn(config: BedrockModelOptions): ModelError | undefined {
  const { baseUrl, aws = {}, apiKey } = config
  const { region, accessKeyId, secretAccessKey } = aws
  if (!region && (baseUrl === undefined || !apiKey))
    return new ModelError(
      'model_unavailable',
      `${nameOf(config)} has no region: set aws.region, for example from the environment variable AWS_REGION`,
    )
  if (apiKey || (accessKeyId && secretAccessKey)) return undefined
  return new ModelError(
    'model_auth',
    `${nameOf(config)} has no credentials: set aws.accessKeyId and aws.secretAccessKey, or apiKey, for example from the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK`,
  )
}

async function readAnswer(
  place: ModelPlace,
  reply: Reply,
  builder: AnswerBuilder,
  watch: AttemptWatch,
  call: ModelCall,
): Promise<ModelAnswer> {
  const { maxResponseBytes } = { ...defaultAnswerLimits, ...call.limits }
  const messages = new StreamMessages(maxEventChars)
  const reader = new ConverseReader(builder)
  let bytes = 0
  let pieces = 0
  let isOpen = true
  try {
    for (;;) {
      const chunk = await nextBytes(place, reply, builder)
      if (chunk === undefined) break
      bytes += chunk.length
      if (bytes > maxResponseBytes)
        throw answerTooLarge(
          nameOf(place),
          `a response of more than ${maxResponseBytes} bytes`,
          'maxResponseBytes',
          builder.emitted,
        )
      for (const message of messages.feed(chunk)) take(place, reader, builder, message)
      if (builder.pieces === pieces) continue
      pieces = builder.pieces
      watch.alive()
      const full = call.drain?.()
      if (full !== undefined) await watch.pause(full)
    }
    isOpen = false
  } catch (error) {
    if (!(error instanceof StreamFormatError)) throw error
    throw bad(place, builder, 'sent something that is not an event stream of Bedrock')
  } finally {
    if (isOpen) reply.drop()
  }
  const { finish, usage } = reader
  if (finish === undefined) throw bad(place, builder, 'stopped in the middle of its answer')
  return builder.finish({ finish, usage, response: { url: place.url } })
}

async function nextBytes(
  place: ModelPlace,
  reply: Reply,
  builder: AnswerBuilder,
): Promise<Uint8Array | undefined> {
  try {
    return await reply.read()
  } catch (error) {
    throw connectionError(place, error, builder.emitted)
  }
}

function take(
  place: ModelPlace,
  reader: ConverseReader,
  builder: AnswerBuilder,
  { headers, payload }: StreamMessage,
): void {
  const exception = headers[':exception-type'] ?? headers[':error-code']
  if (exception !== undefined) {
    const status = statuses[exception.toLowerCase()] ?? 500
    throw refusalError(place, { status, body: payload, emitted: builder.emitted })
  }
  const event = parsed(payload)
  if (isRecord(event)) reader.read(headers[':event-type'] ?? '', event)
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    throw new StreamFormatError()
  }
}

/** The HTTP statuses that correspond to exceptions inside a stream. */
const statuses: Readonly<Record<string, number>> = {
  throttlingexception: 429,
  validationexception: 400,
  accessdeniedexception: 403,
  serviceunavailableexception: 503,
}

function bad(place: ModelPlace, { emitted }: AnswerBuilder, problem: string): ModelError {
  return new ModelError('model_bad_response', `${nameOf(place)} ${problem}`, { emitted, retryable: true })
}
