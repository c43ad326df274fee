import type { AssistantContent, CompletionRequest, Message } from '../tool/completion.js'
import type { ToolDefinition } from '../tool/definition.js'
import { walkHistory } from './append-only.js'
import type { ModelUsage } from './model.js'

/**
 * About how many tokens a request has: characters divided by four, images at a flat rate. `correction` is the ratio of what the
 * provider counted to what was estimated for an earlier request of the same conversation (see {@link correctionOf}).
 */
export function estimateTokens(
  request: Pick<CompletionRequest, 'chatHistory'> & Partial<CompletionRequest>,
  correction = 1,
): number {
  let characters = request.instructions?.length ?? 0
  characters += historyCharacters(request.chatHistory).count
  for (const document of request.documents ?? []) characters += document.text.length + document.id.length
  for (const tool of request.tools ?? []) characters += toolCharacters(tool)
  return Math.ceil((characters / charactersPerToken) * correction)
}

/** Tokens of one message, as {@link estimateTokens} counts them. */
export function estimateMessageTokens(message: Message): number {
  return Math.ceil(messageCharacters(message) / charactersPerToken)
}

/** Tokens of one tool's definition, as {@link estimateTokens} counts them. */
export function definitionTokens(definition: ToolDefinition): number {
  return Math.ceil(toolCharacters(definition) / charactersPerToken)
}

/** What to multiply estimates with, learned from one request; kept within bounds, since a provider's figure may be nonsense. */
export function correctionOf(estimated: number, counted: number): number {
  if (estimated <= 0 || counted <= 0) return 1
  return Math.min(4, Math.max(0.25, counted / estimated))
}

/** A usage for a provider that sends none. */
export function estimateUsage(request: CompletionRequest, answer: readonly AssistantContent[]): ModelUsage {
  const inputTokens = estimateTokens(request)
  const outputTokens = Math.ceil(sum(answer, partCharacters) / charactersPerToken)
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true }
}

const charactersPerToken = 4
/** An image costs a model by its pixels, not by its bytes: about 1,500 tokens. */
const imageCharacters = 6_000
/** Role, separators and ids around a message. */
const messageOverhead = 16

// Calls and definitions do not change once they are made, and have to be written to be counted. Texts know how long they are: a
// long history would cost more remembered than counted again.
const counted = new WeakMap<object, number>()

const historyCharacters = walkHistory(
  () => ({ count: 0 }),
  (sum, message) => {
    sum.count += messageCharacters(message)
  },
)

function messageCharacters(message: Message): number {
  return messageOverhead + contentCharacters(message)
}

function toolCharacters(tool: ToolDefinition): number {
  return writtenOnce(tool, tool)
}

/** How long something is as JSON. */
function writtenOnce(owner: object, value: unknown): number {
  let characters = counted.get(owner)
  if (characters === undefined) {
    characters = JSON.stringify(value).length
    counted.set(owner, characters)
  }
  return characters
}

function contentCharacters(message: Message): number {
  switch (message.role) {
    case 'system':
      return message.content.length
    case 'tool':
      return sum(message.content, (result) => result.id.length + sum(result.content, partCharacters))
    default:
      return sum<Part>(message.content, partCharacters)
  }
}

type Part =
  | Extract<Message, { role: 'user' | 'assistant' }>['content'][number]
  | Extract<Message, { role: 'tool' }>['content'][number]['content'][number]

function partCharacters(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text.length
    case 'image':
      return imageCharacters
    case 'document':
      return part.data.length
    case 'tool_call':
      return part.id.length + part.function.name.length + writtenOnce(part, part.function.arguments)
  }
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += measure(item)
  return total
}
