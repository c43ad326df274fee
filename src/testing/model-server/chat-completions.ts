import type { FinishReason } from '../../model/model.js'
import { isRecord, type JsonObject } from '../../tool/json.js'
import type { Dialect, WireAnswer, WireEvent } from './served-step.js'

/** `POST …/chat/completions`. */
export const chatCompletions: Dialect = {
  match(path, body) {
    if (!path.endsWith('/chat/completions') || !isRecord(body)) return undefined
    return { stream: body['stream'] === true, model: String(body['model'] ?? '') }
  },

  events(answer) {
    const { step } = answer
    const placement = step.usagePlacement ?? 'own'
    const deltas: { delta: JsonObject; finish?: string }[] = [{ delta: { role: 'assistant', content: '' } }]
    for (const text of answer.reasoningPieces) deltas.push({ delta: { reasoning_content: text } })
    for (const text of answer.textPieces) deltas.push({ delta: { content: text } })
    for (const [index, call] of answer.toolCalls.entries()) {
      const begin = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }
      deltas.push({ delta: { tool_calls: [begin] } })
      for (const text of call.inputPieces)
        deltas.push({ delta: { tool_calls: [{ index, function: { arguments: text } }] } })
    }
    const events = deltas.map(({ delta }) =>
      chunk(answer, [{ index: 0, delta, finish_reason: null }], placement === 'every'),
    )
    if (step.streamError !== undefined) return [...events, dataOf({ error: { ...step.streamError } })]
    const last = [{ index: 0, delta: {}, finish_reason: finishWords[answer.finish] }]
    events.push(chunk(answer, last, placement === 'every' || placement === 'last'))
    if (placement === 'own') events.push(chunk(answer, [], true))
    return step.done === false ? events : [...events, { data: '[DONE]' }]
  },

  body(answer) {
    const calls = answer.toolCalls.map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: input },
    }))
    const message = {
      role: 'assistant',
      content: answer.text === '' && calls.length > 0 ? null : answer.text,
      ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    return {
      ...head(answer, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason: finishWords[answer.finish] }],
      ...(answer.step.usagePlacement === 'none' ? {} : { usage: usageOf(answer) }),
    }
  },

  error: (status, message) => ({
    error: { message, type: status >= 500 ? 'server_error' : 'error', code: null },
  }),
}

const finishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  other: 'stop',
}

function chunk(answer: WireAnswer, choices: JsonObject[], withUsage: boolean): WireEvent {
  const usage = withUsage ? { usage: usageOf(answer) } : {}
  return dataOf({ ...head(answer, 'chat.completion.chunk'), choices, ...usage })
}

function head({ n, model }: WireAnswer, object: string): JsonObject {
  return { id: `chatcmpl-${n + 1}`, object, created: 0, model }
}

function usageOf({ tokens }: WireAnswer): JsonObject {
  return {
    prompt_tokens: tokens.input,
    completion_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cacheRead },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  }
}

function dataOf(value: JsonObject): WireEvent {
  return { data: JSON.stringify(value) }
}
