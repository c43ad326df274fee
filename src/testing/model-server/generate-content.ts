import type { FinishReason } from '../../model/model.js'
import type { JsonObject } from '../../tool/json.js'
import type { Dialect, WireAnswer, WireEvent } from './served-step.js'

/** `POST …/models/<model>:generateContent`, and `:streamGenerateContent`. */
export const generateContent: Dialect = {
  match(path) {
    const found = /\/models\/([^/:?]+):(generateContent|streamGenerateContent)$/.exec(path)
    if (found === null) return undefined
    return { stream: found[2] === 'streamGenerateContent', model: decodeURIComponent(found[1] ?? '') }
  },

  events(answer) {
    const { step } = answer
    const parts = [
      ...answer.reasoningPieces.map((text) => ({ text, thought: true })),
      ...answer.textPieces.map((text) => ({ text })),
      ...callParts(answer),
    ]
    const events = parts.map((part) => eventOf(chunk(answer, [part])))
    if (step.streamError !== undefined) {
      const { type, message } = step.streamError
      return [...events, eventOf({ error: { code: 503, message, status: type } })]
    }
    return step.done === false ? events : [...events, eventOf(chunk(answer, [{ text: '' }], true))]
  },

  body(answer) {
    const thought = answer.reasoning === '' ? [] : [{ text: answer.reasoning, thought: true }]
    const text = answer.text === '' ? [] : [{ text: answer.text }]
    return chunk(answer, [...thought, ...text, ...callParts(answer)], true)
  },

  error: (status, message) => ({
    error: { code: status, message, status: errorWords[status] ?? 'INTERNAL' },
  }),
}

const finishWords: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
  other: 'OTHER',
}

const errorWords: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

function callParts({ toolCalls }: WireAnswer): JsonObject[] {
  return toolCalls.map(({ name, input, signature }) => ({
    functionCall: { name, args: JSON.parse(input) },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  }))
}

function chunk(answer: WireAnswer, parts: JsonObject[], last = false): JsonObject {
  const { n, model, tokens } = answer
  const finish = last ? { finishReason: finishWords[answer.finish] } : {}
  return {
    candidates: [{ content: { parts, role: 'model' }, ...finish, index: 0 }],
    usageMetadata: {
      promptTokenCount: tokens.input,
      candidatesTokenCount: tokens.output - tokens.reasoning,
      thoughtsTokenCount: tokens.reasoning,
      cachedContentTokenCount: tokens.cacheRead,
      totalTokenCount: tokens.input + tokens.output,
    },
    modelVersion: model,
    responseId: `gen_${n + 1}`,
  }
}

function eventOf(value: JsonObject): WireEvent {
  return { data: JSON.stringify(value) }
}
