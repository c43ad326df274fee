import type { FinishReason } from '../../model/model.js'
import { isRecord, type JsonObject, type JsonValue } from '../../tool/json.js'
import type { Dialect, WireAnswer, WireEvent } from './served-step.js'

/** `POST …/messages`. */
export const messages: Dialect = {
  match(path, body) {
    if (!path.endsWith('/messages') || !isRecord(body)) return undefined
    return { stream: body['stream'] === true, model: String(body['model'] ?? '') }
  },

  events(answer) {
    const { step } = answer
    const start = { ...head(answer), content: [], stop_reason: null, stop_sequence: null }
    const events = [
      eventOf('message_start', { message: { ...start, usage: usageOf(answer, 1) } }),
      eventOf('ping', {}),
    ]
    for (const [index, block] of blocksOf(answer).entries()) {
      events.push(eventOf('content_block_start', { index, content_block: block.opening }))
      for (const delta of block.deltas) events.push(eventOf('content_block_delta', { index, delta }))
      events.push(eventOf('content_block_stop', { index }))
    }
    if (step.streamError !== undefined)
      return [...events, eventOf('error', { error: { ...step.streamError } })]
    if (step.done === false) return events
    const delta = { stop_reason: stopWords[answer.finish], stop_sequence: null }
    return [
      ...events,
      eventOf('message_delta', { delta, usage: { output_tokens: answer.tokens.output } }),
      eventOf('message_stop', {}),
    ]
  },

  body: (answer) => ({
    ...head(answer),
    content: blocksOf(answer).map(({ whole }) => whole),
    stop_reason: stopWords[answer.finish],
    stop_sequence: null,
    usage: usageOf(answer, answer.tokens.output),
  }),

  error: (status, message) => ({
    type: 'error',
    error: { type: errorWords[status] ?? 'api_error', message },
  }),
}

const stopWords: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  other: 'pause_turn',
}

const errorWords: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

type Block = { opening: JsonObject; deltas: JsonObject[]; whole: JsonValue }

function blocksOf(answer: WireAnswer): Block[] {
  const blocks: Block[] = []
  if (answer.reasoning !== '' || answer.signature !== undefined) {
    const signature = answer.signature ?? ''
    blocks.push({
      opening: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...answer.reasoningPieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ],
      whole: { type: 'thinking', thinking: answer.reasoning, signature },
    })
  }
  if (answer.text !== '') {
    blocks.push({
      opening: { type: 'text', text: '' },
      deltas: answer.textPieces.map((text) => ({ type: 'text_delta', text })),
      whole: { type: 'text', text: answer.text },
    })
  }
  for (const { id, name, input, inputPieces } of answer.toolCalls) {
    blocks.push({
      opening: { type: 'tool_use', id, name, input: {} },
      deltas: ['', ...inputPieces].map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      whole: { type: 'tool_use', id, name, input: JSON.parse(input) },
    })
  }
  return blocks
}

function head({ n, model }: WireAnswer): JsonObject {
  return { id: `msg_${n + 1}`, type: 'message', role: 'assistant', model }
}

function usageOf({ tokens }: WireAnswer, output: number): JsonObject {
  return {
    // This protocol counts cached tokens separately.
    input_tokens: tokens.input - tokens.cacheRead - tokens.cacheWrite,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation_input_tokens: tokens.cacheWrite,
    output_tokens: output,
  }
}

function eventOf(type: string, fields: JsonObject): WireEvent {
  return { event: type, data: JSON.stringify({ type, ...fields }) }
}
