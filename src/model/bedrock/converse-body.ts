import type {
  AssistantMessage,
  CompletionRequest,
  Message,
  ReasoningContent,
  ToolChoice,
  ToolMessage,
  UserContent,
} from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'
import { budgetOfEffort, effortFor } from '../effort.js'
import { lowerHistory } from '../lower-history.js'
import type { ModelFacts, PromptCache } from '../model.js'
import { renderDocuments } from '../render-documents.js'
import { kindOf, takesMedia } from '../takes-media.js'

export type ConverseTarget = {
  readonly id: string
  readonly facts: ModelFacts
  readonly promptCache?: PromptCache | undefined
}

/** Returns the body of a request to the Converse API of Bedrock. */
export function converseBody(request: CompletionRequest, target: ConverseTarget): JsonObject {
  const { facts, id } = target
  const mark = cachePoint(target)
  const tools = facts.tools ? request.tools : []
  const reasoning = reasoningFields(request, target)
  const system = request.instructions ? [{ text: request.instructions }, ...mark] : []
  // Amazon's own models do not cache tools.
  const toolMark = isAnthropic(id) ? mark : []
  return {
    ...(system.length > 0 && { system }),
    messages: messagesOf(request, facts, mark),
    ...(tools.length > 0 && {
      toolConfig: {
        tools: [
          ...tools.map(({ name, description, parameters }) => ({
            toolSpec: { name, description, inputSchema: { json: parameters as JsonObject } },
          })),
          ...toolMark,
        ],
        ...choiceOf(request.toolChoice),
      },
    }),
    ...inferenceOf(request, facts, reasoning !== undefined),
    ...(reasoning !== undefined && { additionalModelRequestFields: reasoning }),
  }
}

function isAnthropic(id: string): boolean {
  return /\banthropic\./.test(id)
}

function cachePoint({ id, promptCache }: ConverseTarget): JsonObject[] {
  if (promptCache === 'off' || !(isAnthropic(id) || /\bamazon\.nova/.test(id))) return []
  const isLong = isAnthropic(id) && (promptCache === '1h' || promptCache === '24h')
  return [{ cachePoint: { type: 'default', ...(isLong && { ttl: '1h' }) } }]
}

/** Returns the fields for a reasoning level, which depend on the model's vendor. */
function reasoningFields(request: CompletionRequest, { id, facts }: ConverseTarget): JsonObject | undefined {
  const effort = effortFor(request, facts)
  if (effort === undefined || effort === 'none') return undefined
  if (isAnthropic(id)) {
    const decides = facts.reasoningLevels?.some((level) => level === 'max' || level === 'xhigh')
    return decides
      ? { thinking: { type: 'adaptive' }, output_config: { effort: effort === 'minimal' ? 'low' : effort } }
      : { thinking: { type: 'enabled', budget_tokens: budgetOfEffort(effort) } }
  }
  if (/\bopenai\./.test(id)) return { reasoning_effort: effort }
  return undefined
}

function inferenceOf(
  { maxTokens, temperature }: CompletionRequest,
  facts: ModelFacts,
  reasons: boolean,
): JsonObject {
  const inferenceConfig = {
    ...(maxTokens !== undefined && { maxTokens }),
    // A model does not accept a temperature while it reasons.
    ...(facts.temperature && !reasons && temperature !== undefined && { temperature }),
  }
  return Object.keys(inferenceConfig).length > 0 ? { inferenceConfig } : {}
}

function choiceOf(choice: ToolChoice | undefined): JsonObject {
  if (choice === undefined || choice === 'none') return {}
  if (typeof choice === 'object') return { toolChoice: { tool: { name: choice.name } } }
  return { toolChoice: choice === 'required' ? { any: {} } : { auto: {} } }
}

type Turn = { readonly role: 'user' | 'assistant'; readonly content: JsonObject[] }

/** Converts the history. User and assistant turns must alternate, and tool results belong to user turns. */
function messagesOf(request: CompletionRequest, facts: ModelFacts, mark: JsonObject[]): JsonObject[] {
  const documents = renderDocuments(request.documents)
  const turns: Turn[] = []
  const add = (role: Turn['role'], content: JsonObject[]): void => {
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content: [...content] })
  }
  if (documents !== undefined) add('user', [{ text: documents }])
  for (const message of lowerHistory(request.chatHistory))
    add(message.role === 'assistant' ? 'assistant' : 'user', contentOf(message, facts))
  turns.at(-1)?.content.push(...mark)
  return turns.map(({ role, content }) => ({ role, content }))
}

function contentOf(message: Message, facts: ModelFacts): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ text: message.content }]
    case 'user':
      return message.content.flatMap((part) => userPart(part, facts))
    case 'assistant':
      return assistantParts(message)
    case 'tool':
      return toolResults(message, facts)
  }
}

function userPart(part: UserContent, facts: ModelFacts): JsonObject[] {
  if (part.type === 'text') return textBlock(part.text)
  if (part.type === 'image') return [imageBlock(part, facts)]
  const { data, mediaType = 'application/pdf', name = 'document' } = part
  const kind = kindOf(part)
  if (kind === 'text') return textBlock(`<document name=${JSON.stringify(name)}>\n${data}\n</document>`)
  const format = formats.get(mediaType.toLowerCase())
  if (!takesMedia(facts, part) || format === undefined || /^https?:/.test(data))
    return [
      {
        text: `[the document ${JSON.stringify(name)} (${mediaType}), which this model cannot read, was left out]`,
      },
    ]
  const source = { bytes: plainBase64(data) }
  if (kind === 'video') return [{ video: { format, source } }]
  const title = name.replace(/[^\w\s()[\]-]+/g, '-').replace(/\s+/g, ' ')
  return [{ document: { format, name: title, source } }]
}

/** The file formats that Converse accepts, with its names for them. */
const formats = new Map([
  ['application/pdf', 'pdf'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['video/webm', 'webm'],
  ['video/x-matroska', 'mkv'],
  ['video/mpeg', 'mpeg'],
])

function assistantParts({ content }: AssistantMessage): JsonObject[] {
  return content.flatMap((part) => {
    if (part.type === 'text') return textBlock(part.text)
    if (part.type === 'reasoning') return reasoningBlocks(part)
    if (part.type !== 'tool_call') return []
    const { name, arguments: input } = part.function
    return [{ toolUse: { toolUseId: callId(part.id), name, input } }]
  })
}

/** Converts reasoning. Bedrock accepts earlier reasoning only with a signature. */
function reasoningBlocks({ text, signature, content = [] }: ReasoningContent): JsonObject[] {
  const hidden = content.flatMap((piece) =>
    piece.type === 'redacted' ? [{ reasoningContent: { redactedContent: piece.data } }] : [],
  )
  const shown = signature === undefined ? [] : [{ reasoningContent: { reasoningText: { text, signature } } }]
  return [...shown, ...hidden]
}

function toolResults({ content }: ToolMessage, facts: ModelFacts): JsonObject[] {
  return content.map(({ id, content: parts, isError }) => {
    const blocks = parts.flatMap((part) =>
      part.type === 'text' ? textBlock(part.text) : [imageBlock(part, facts)],
    )
    return {
      toolResult: {
        toolUseId: callId(id),
        content: blocks.length > 0 ? blocks : [{ text: '(no output)' }],
        ...(isError === true && { status: 'error' }),
      },
    }
  })
}

function imageBlock(
  { data, mediaType = 'image/png' }: { data: string; mediaType?: string },
  facts: ModelFacts,
): JsonObject {
  if (!facts.images || /^https?:/.test(data))
    return { text: '[an image that this model cannot see was left out]' }
  const format = mediaType.replace(/^image\//, '').replace('jpg', 'jpeg')
  return { image: { format, source: { bytes: plainBase64(data) } } }
}

/** Converts a text. Bedrock rejects blank texts. */
function textBlock(text: string): JsonObject[] {
  return text.trim() === '' ? [] : [{ text }]
}

function plainBase64(data: string): string {
  return data.replace(/^data:[^,]*,/, '')
}

/** Converts a call id, because ids of other providers can contain other characters. */
function callId(id: string): string {
  return id.replace(/[^\w-]/g, '_').slice(0, 64)
}
