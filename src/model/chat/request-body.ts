import type { CompletionRequest, Message, ToolChoice } from '../../tool/completion.js'
import type { ToolDefinition } from '../../tool/definition.js'
import type { JsonObject, JsonValue } from '../../tool/json.js'
import { lowerHistory } from '../lower-history.js'
import type { ModelFacts } from '../model.js'
import { renderDocuments } from '../render-documents.js'
import type { ChatDialect } from './dialect.js'
import { isStrictSchema } from './strict-schema.js'
import { wireMessage } from './wire-message.js'

export type BodyWriter = (request: CompletionRequest, options: { readonly streamUsage: boolean }) => string

/**
 * Writes request bodies. Each message and definition is turned into JSON once and remembered, so a request on top of a long
 * history costs little; messages must not change once they were sent. The messages come last, hence each request's text but for
 * its end begins the next one's, which is what prompt caches live on.
 */
export function createBodyWriter(model: string, facts: ModelFacts, dialect: ChatDialect): BodyWriter {
  const written = new WeakMap<Message, Written>()
  const definitions = new WeakMap<ToolDefinition, string>()
  const style = { facts, dialect }

  const write = (message: Message): Written => {
    let made = written.get(message)
    if (made === undefined) {
      const { messages, after } = wireMessage(message, style)
      made = {
        json: messages.map(toJson).join(','),
        ...(after !== undefined && { after: toJson(after) }),
      }
      written.set(message, made)
    }
    return made
  }

  const define = (tool: ToolDefinition): string => {
    let json = definitions.get(tool)
    if (json === undefined) {
      const { name, description, parameters } = tool
      json = JSON.stringify({ type: 'function', function: { name, description, parameters } })
      definitions.set(tool, json)
    }
    return json
  }

  return (request, { streamUsage }) => {
    const head = JSON.stringify(parametersOf(request, model, facts, dialect, streamUsage)).slice(0, -1)
    const tools =
      facts.tools && request.tools.length > 0
        ? `,"tools":[${request.tools.map(define).join(',')}]${choiceOf(request.toolChoice)}`
        : ''
    return `${head}${tools},"messages":[${messagesOf(request, write).join(',')}]}`
  }
}

type Written = { readonly json: string; readonly after?: string }

function messagesOf(request: CompletionRequest, write: (message: Message) => Written): string[] {
  const parts: string[] = []
  if (request.instructions) parts.push(toJson({ role: 'system', content: request.instructions }))
  const documents = renderDocuments(request.documents)
  if (documents !== undefined) parts.push(toJson({ role: 'user', content: documents }))
  let waiting: string[] = []
  for (const message of lowerHistory(request.chatHistory)) {
    if (waiting.length > 0 && message.role !== 'tool') {
      parts.push(...waiting)
      waiting = []
    }
    const { json, after } = write(message)
    if (json !== '') parts.push(json)
    if (after !== undefined) waiting.push(after)
  }
  parts.push(...waiting)
  return parts
}

function parametersOf(
  request: CompletionRequest,
  model: string,
  facts: ModelFacts,
  { maxTokensField = 'max_tokens' }: ChatDialect,
  streamUsage: boolean,
): JsonObject {
  const { messages: _, tools: __, ...additional } = request.additionalParams ?? {}
  return {
    model,
    ...(facts.temperature && request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.maxTokens !== undefined && { [maxTokensField]: request.maxTokens }),
    ...(facts.structuredOutput &&
      request.outputSchema !== undefined && { response_format: responseFormat(request.outputSchema) }),
    ...additional,
    stream: true,
    ...(streamUsage && { stream_options: { include_usage: true } }),
  }
}

function responseFormat(schema: NonNullable<CompletionRequest['outputSchema']>): JsonObject {
  const json = schema as JsonObject
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: json, strict: isStrictSchema(schema) },
  }
}

function choiceOf(choice: ToolChoice | undefined): string {
  if (choice === undefined) return ''
  const value = typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } }
  return `,"tool_choice":${JSON.stringify(value)}`
}

/** Half a surrogate pair is legal JSON in JavaScript's eyes and refused by stricter parsers: such a message would fail for ever. */
function toJson(value: JsonValue): string {
  const json = JSON.stringify(value)
  if (!json.includes('\\ud')) return json
  return JSON.stringify(value, (_, inner: JsonValue) =>
    typeof inner === 'string' ? inner.replace(loneSurrogate, '\ufffd') : inner,
  )
}

const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
