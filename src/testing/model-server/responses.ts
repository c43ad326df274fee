import { isRecord, type JsonObject } from '../../tool/json.js'
import type { Dialect, WireAnswer, WireEvent } from './served-step.js'

/** `POST …/responses`. */
export const responses: Dialect = {
  match(path, body) {
    if (!path.endsWith('/responses') || !isRecord(body)) return undefined
    return { stream: body['stream'] === true, model: String(body['model'] ?? '') }
  },

  events(answer) {
    const { step } = answer
    const response = { ...head(answer), status: 'in_progress', output: [] }
    const fields: JsonObject[] = [
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]
    for (const [output_index, item] of itemsOf(answer).entries()) {
      fields.push({ type: 'response.output_item.added', output_index, item: item.opening })
      for (const each of item.between) fields.push({ ...each, output_index, item_id: item.id })
      fields.push({ type: 'response.output_item.done', output_index, item: item.whole })
    }
    if (step.streamError !== undefined) {
      const { type, message } = step.streamError
      const error = { code: type, message }
      fields.push({ type: 'response.failed', response: { ...head(answer), status: 'failed', error } })
    } else if (step.done !== false) {
      fields.push({ type: endOf(answer), response: wholeOf(answer) })
    }
    return fields.map((each, sequence_number) => eventOf({ ...each, sequence_number }))
  },

  body: wholeOf,

  error: (status, message) => ({
    error: {
      message,
      type: status >= 500 ? 'server_error' : 'invalid_request_error',
      param: null,
      code: null,
    },
  }),
}

type Item = { id: string; opening: JsonObject; between: JsonObject[]; whole: JsonObject }

function itemsOf(answer: WireAnswer): Item[] {
  const items: Item[] = []
  if (answer.reasoning !== '' || answer.signature !== undefined) items.push(reasoningItem(answer))
  if (answer.text !== '') items.push(messageItem(answer))
  for (const [index, call] of answer.toolCalls.entries()) {
    const id = `fc_${answer.n + 1}_${index + 1}`
    const of = (status: string, args: string) => ({
      type: 'function_call',
      id,
      call_id: call.id,
      name: call.name,
      arguments: args,
      status,
    })
    items.push({
      id,
      opening: of('in_progress', ''),
      between: [
        ...call.inputPieces.map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
        { type: 'response.function_call_arguments.done', arguments: call.input },
      ],
      whole: of('completed', call.input),
    })
  }
  return items
}

function reasoningItem({ n, reasoning, reasoningPieces, signature }: WireAnswer): Item {
  const id = `rs_${n + 1}`
  const part = (text: string) => ({ type: 'summary_text', text })
  const summary_index = 0
  return {
    id,
    opening: { type: 'reasoning', id, summary: [], encrypted_content: null },
    between: [
      { type: 'response.reasoning_summary_part.added', summary_index, part: part('') },
      ...reasoningPieces.map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        summary_index,
        delta,
      })),
      { type: 'response.reasoning_summary_part.done', summary_index, part: part(reasoning) },
    ],
    whole: { type: 'reasoning', id, summary: [part(reasoning)], encrypted_content: signature ?? null },
  }
}

function messageItem({ n, text, textPieces }: WireAnswer): Item {
  const id = `msg_${n + 1}`
  const part = (said: string) => ({ type: 'output_text', text: said, annotations: [], logprobs: [] })
  const of = (status: string, content: JsonObject[]) => ({
    type: 'message',
    id,
    role: 'assistant',
    status,
    content,
  })
  return {
    id,
    opening: of('in_progress', []),
    between: [
      { type: 'response.content_part.added', content_index: 0, part: part('') },
      ...textPieces.map((delta) => ({
        type: 'response.output_text.delta',
        content_index: 0,
        delta,
        logprobs: [],
      })),
      { type: 'response.output_text.done', content_index: 0, text, logprobs: [] },
      { type: 'response.content_part.done', content_index: 0, part: part(text) },
    ],
    whole: of('completed', [part(text)]),
  }
}

function wholeOf(answer: WireAnswer): JsonObject {
  const { finish, tokens } = answer
  const incomplete =
    finish === 'length' ? 'max_output_tokens' : finish === 'content_filter' ? finish : undefined
  return {
    ...head(answer),
    status: incomplete === undefined ? 'completed' : 'incomplete',
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    error: null,
    output: itemsOf(answer).map(({ whole }) => whole),
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { cached_tokens: tokens.cacheRead },
      output_tokens: tokens.output,
      output_tokens_details: { reasoning_tokens: tokens.reasoning },
      total_tokens: tokens.input + tokens.output,
    },
  }
}

function endOf({ finish }: WireAnswer): string {
  return finish === 'length' || finish === 'content_filter' ? 'response.incomplete' : 'response.completed'
}

function head({ n, model }: WireAnswer): JsonObject {
  return { id: `resp_${n + 1}`, object: 'response', created_at: 0, model }
}

function eventOf(fields: JsonObject): WireEvent {
  return { event: String(fields['type']), data: JSON.stringify(fields) }
}
