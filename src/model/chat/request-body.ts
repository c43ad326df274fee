import type { CompletionRequest, ToolChoice } from '../../tool/completion.js'
import type { ToolDefinition } from '../../tool/definition.js'
import type { JsonObject } from '../../tool/json.js'
import { effortFor } from '../effort.js'
import { forSameItems } from '../for-same-items.js'
import { lowerHistory } from '../lower-history.js'
import type { ModelFacts, PromptCache } from '../model.js'
import { renderDocuments } from '../render-documents.js'
import { type ChatDialect, cacheFields, effortFields } from './dialect.js'
import { createMessageText, type MessageText, toJson } from './message-text.js'
import { isStrictSchema } from './strict-schema.js'

export type BodyWriter = (request: CompletionRequest, options: BodyOptions) => string

export type BodyOptions = { readonly streamUsage: boolean; readonly sessionId?: string | undefined }

/**
 * Creates a writer of request bodies. Messages and definitions are converted to JSON once and cached, so they must not
 * change after they were sent. The messages come last, so each request begins with the text of the previous one, which
 * prompt caches need.
 */
export function createBodyWriter(
  model: string,
  facts: ModelFacts,
  dialect: ChatDialect,
  cache?: PromptCache | undefined,
): BodyWriter {
  const messageText = createMessageText({ facts, dialect })
  const definitions = new WeakMap<ToolDefinition, string>()

  const define = (tool: ToolDefinition): string => {
    let json = definitions.get(tool)
    if (json === undefined) {
      const { name, description, parameters } = tool
      json = JSON.stringify({ type: 'function', function: { name, description, parameters } })
      definitions.set(tool, json)
    }
    return json
  }
  const toolsText = forSameItems((tools: readonly ToolDefinition[]) => tools.map(define).join(','))
  let system: { readonly instructions: string; readonly json: string } | undefined
  const systemText = (instructions: string): string => {
    if (system?.instructions !== instructions)
      system = { instructions, json: toJson({ role: 'system', content: instructions }) }
    return system.json
  }

  return (request, options) => {
    const own = { model, ...cacheFields(cache, dialect.cache, options.sessionId) }
    const head = JSON.stringify(parametersOf(request, own, facts, dialect, options)).slice(0, -1)
    const tools =
      facts.tools && request.tools.length > 0
        ? `,"tools":[${toolsText(request.tools)}]${choiceOf(request.toolChoice)}`
        : ''
    return `${head}${tools},"messages":[${concatenated(messagesOf(request, systemText, messageText))}]}`
  }
}

/**
 * Joins texts with commas. Concatenated strings are copied once, when the body is converted to bytes; `join` would copy
 * a long history one more time.
 */
function concatenated(texts: readonly string[]): string {
  let all = ''
  for (const text of texts) all = all === '' ? text : `${all},${text}`
  return all
}

function messagesOf(
  request: CompletionRequest,
  systemText: (instructions: string) => string,
  messageText: MessageText,
): string[] {
  const { instructions, chatHistory } = request
  const documents = renderDocuments(request.documents)
  return [
    ...(instructions ? [systemText(instructions)] : []),
    ...(documents === undefined ? [] : [toJson({ role: 'user', content: documents })]),
    ...messageText(lowerHistory(chatHistory)),
  ]
}

function parametersOf(
  request: CompletionRequest,
  own: JsonObject,
  facts: ModelFacts,
  { maxTokensField = 'max_tokens', effort }: ChatDialect,
  { streamUsage }: BodyOptions,
): JsonObject {
  // This protocol has no thinking budget, and strict servers reject unknown fields.
  const {
    messages: _,
    tools: __,
    thinkingBudget: ___,
    reasoningEffort: ____,
    ...additional
  } = request.additionalParams ?? {}
  return {
    ...own,
    ...effortFields(effortFor(request, facts), effort),
    ...(facts.temperature && request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.maxTokens !== undefined && { [maxTokensField]: request.maxTokens }),
    ...(facts.structuredOutput !== false &&
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
