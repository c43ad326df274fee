import type { AssistantContent, CompletionRequest, Message } from '../tool/completion.js'
import type { ToolDefinition } from '../tool/definition.js'
import { walkHistory } from './append-only.js'
import { forSameItems } from './for-same-items.js'
import type { ModelUsage } from './model.js'

/**
 * Estimates the tokens of a request: characters divided by four, images at a fixed rate. `correction` is the ratio of
 * counted to estimated tokens of an earlier request of the same conversation (see {@link correctionOf}).
 */
export function estimateTokens(
  request: Pick<CompletionRequest, 'chatHistory'> & Partial<CompletionRequest>,
  correction = 1,
): number {
  let characters = request.instructions?.length ?? 0
  characters += historyCharacters(request.chatHistory).count
  for (const document of request.documents ?? []) characters += document.text.length + document.id.length
  if (request.tools !== undefined) characters += toolsCharacters(request.tools)
  return Math.ceil((characters / charactersPerToken) * correction)
}

/** Estimates the tokens of one message, like {@link estimateTokens}. */
export function estimateMessageTokens(message: Message): number {
  return Math.ceil(messageCharacters(message) / charactersPerToken)
}

/** Estimates the tokens of one tool's definition, like {@link estimateTokens}. */
export function definitionTokens(definition: ToolDefinition): number {
  return Math.ceil(toolCharacters(definition) / charactersPerToken)
}

/**
 * Returns the correction factor for estimates, computed from one request. It is bounded, because a provider's count may
 * be wrong.
 */
export function correctionOf(estimated: number, counted: number): number {
  if (estimated <= 0 || counted <= 0) return 1
  return Math.min(4, Math.max(0.25, counted / estimated))
}

/** Estimates the usage for a provider that sends none. */
export function estimateUsage(request: CompletionRequest, answer: readonly AssistantContent[]): ModelUsage {
  const inputTokens = estimateTokens(request)
  const outputTokens = Math.ceil(sum(answer, partCharacters) / charactersPerToken)
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true }
}

const charactersPerToken = 4
/** The size of an image in characters, about 1,500 tokens: images are charged by their pixels, not by their bytes. */
const imageCharacters = 6_000
/** The size of role, separators and ids around a message, in characters. */
const messageOverhead = 16

// Calls and definitions do not change, and must be serialized to determine their size, so their sizes are cached. The
// length of a string needs no computation: caching it for a long history would cost more than counting again.
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

const toolsCharacters = forSameItems((tools: readonly ToolDefinition[]) => sum(tools, toolCharacters))

/** Returns the length of a value as JSON, cached by its owner. */
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
