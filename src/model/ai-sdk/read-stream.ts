import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import type { AnswerBuilder, AnswerEnd, OpenToolCall } from '../answer-builder.js'
import type { FinishReason, ModelUsage } from '../model.js'
import type { AiSdkProviderOptions } from './ai-sdk-model.js'
import { mergeMetadata, metadataOf, signatureOf } from './provider-metadata.js'

/** How a stream ended: `raw` is the provider's own reason. */
export type StreamEnd = Omit<AnswerEnd, 'finish'> & {
  readonly finish: FinishReason | 'error'
  readonly raw?: string | undefined
}

/** The provider reported a failure inside the stream. */
export class StreamFailure {
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

type Part = Readonly<Record<string, unknown>>

/**
 * Adds the parts of an AI SDK stream to an answer. Unknown parts are ignored: newer specifications add some. Throws a
 * {@link StreamFailure} for an error part.
 */
export class StreamReader {
  readonly #answer: AnswerBuilder
  readonly #calls = new Map<string, OpenToolCall>()
  /** Calls that the provider executes itself; they are ignored. */
  readonly #foreign = new Set<string>()
  readonly #reasoning = new Map<string, AiSdkProviderOptions>()
  #response: { id?: string; model?: string } = {}
  #end: StreamEnd | undefined

  constructor(answer: AnswerBuilder) {
    this.#answer = answer
  }

  /** How the stream ended; undefined before the provider has reported it. */
  get end(): StreamEnd | undefined {
    return this.#end === undefined ? undefined : { ...this.#end, response: this.#response }
  }

  read(part: unknown): void {
    if (!isRecord(part)) return
    switch (part['type']) {
      case 'text-delta':
        this.#answer.text(textIn(part, 'delta'))
        break
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#think(part)
        break
      case 'tool-input-start':
        this.#openCall(part)
        break
      case 'tool-input-delta':
        this.#calls.get(textIn(part, 'id'))?.append(textIn(part, 'delta'))
        break
      case 'tool-call':
        this.#call(part)
        break
      case 'file':
        this.#file(part)
        break
      case 'response-metadata':
        this.#metadata(part)
        break
      case 'finish':
        this.#end = endOf(part)
        break
      case 'error':
        throw new StreamFailure(part['error'])
    }
  }

  #think(part: Part): void {
    const id = textIn(part, 'id')
    this.#answer.reasoning(textIn(part, 'delta'), { id })
    if (part['providerMetadata'] === undefined) return
    const metadata = mergeMetadata(this.#reasoning.get(id), metadataOf(part['providerMetadata']))
    this.#reasoning.set(id, metadata)
    const signature = signatureOf(metadata)
    if (signature !== undefined) this.#answer.reasoning('', { id, signature })
  }

  #openCall(part: Part): void {
    const id = textIn(part, 'id')
    if (part['providerExecuted'] === true) this.#foreign.add(id)
    else this.#calls.set(id, this.#answer.toolCall(textIn(part, 'toolName'), id))
  }

  #call(part: Part): void {
    const id = textIn(part, 'toolCallId')
    if (part['providerExecuted'] === true || this.#foreign.has(id)) return
    const call = this.#calls.get(id) ?? this.#answer.toolCall(textIn(part, 'toolName'), id)
    call.settle(serializeToolOutput(part['input'] ?? ''))
    const signature = signatureOf(mergeMetadata(undefined, metadataOf(part['providerMetadata'])))
    if (signature !== undefined) call.mark({ signature })
    // Providers without call ids of their own may reuse one for the next call.
    this.#calls.delete(id)
  }

  #file(part: Part): void {
    const mediaType = textIn(part, 'mediaType')
    const data = isRecord(part['data']) && 'data' in part['data'] ? part['data']['data'] : part['data']
    if (!mediaType.startsWith('image/')) return
    if (typeof data === 'string') this.#answer.image({ data, mediaType })
    else if (data instanceof Uint8Array)
      this.#answer.image({ data: Buffer.from(data).toString('base64'), mediaType })
  }

  #metadata(part: Part): void {
    const { id, modelId } = part
    if (typeof id === 'string') this.#response = { ...this.#response, id }
    if (typeof modelId === 'string') this.#response = { ...this.#response, model: modelId }
  }
}

function textIn(part: Part, field: string): string {
  const value = part[field]
  return typeof value === 'string' ? value : ''
}

/** Version 2 has one reason; later versions have the common reason and the provider's own. */
function endOf(part: Part): StreamEnd {
  const reason = part['finishReason']
  const word = isRecord(reason) ? reason['unified'] : reason
  const raw = isRecord(reason) ? reason['raw'] : reason === 'unknown' ? undefined : reason
  const usage = usageOf(part['usage'])
  return {
    finish: finishWords[String(word)] ?? 'other',
    raw: typeof raw === 'string' ? raw : undefined,
    usage,
  }
}

const finishWords: Readonly<Record<string, FinishReason | 'error'>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  error: 'error',
}

function usageOf(usage: unknown): ModelUsage | undefined {
  if (!isRecord(usage)) return undefined
  const input = isRecord(usage['inputTokens']) ? usage['inputTokens'] : { total: usage['inputTokens'] }
  const output = isRecord(usage['outputTokens']) ? usage['outputTokens'] : { total: usage['outputTokens'] }
  const inputTokens = countOf(input['total'])
  const outputTokens = countOf(output['total'])
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const cached = countOf(input['cacheRead']) ?? countOf(usage['cachedInputTokens'])
  const written = countOf(input['cacheWrite'])
  const reasoning = countOf(output['reasoning']) ?? countOf(usage['reasoningTokens'])
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    totalTokens: countOf(usage['totalTokens']) ?? (inputTokens ?? 0) + (outputTokens ?? 0),
    ...omitUndefined({ cachedInputTokens: cached, cacheWriteTokens: written, reasoningTokens: reasoning }),
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
