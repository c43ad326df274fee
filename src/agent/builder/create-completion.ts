import { toResponse } from '../../loop/ask-model.js'
import type {
  AssistantContent,
  CompletionRequest,
  CompletionResponse,
  CompletionUsage,
  Message,
} from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'
import { modelFor } from './model-for.js'
import { messagesOf, type PromptInput } from './prompt-request.js'
import type { BuilderModel } from './settings.js'

export type CreateCompletionOptions = Pick<
  Partial<CompletionRequest>,
  'instructions' | 'documents' | 'tools' | 'temperature' | 'maxTokens' | 'toolChoice' | 'outputSchema'
> & {
  /** What is asked, after `messages`. One of the two is needed. */
  readonly input?: PromptInput
  readonly messages?: readonly Message[]
  /** What goes to the provider in addition. */
  readonly params?: JsonObject
  readonly signal?: AbortSignal
}

export type CreateCompletionResult = {
  readonly text: string
  readonly content: AssistantContent[]
  readonly usage: CompletionUsage
  readonly response: CompletionResponse
}

/**
 * Asks a model once: no tools are run, and a request that fails is not repeated.
 *
 * @example
 * const { text } = await createCompletion(model, { input: 'Name three knots.' })
 */
export async function createCompletion(
  model: BuilderModel,
  { input, messages = [], params, signal = new AbortController().signal, ...rest }: CreateCompletionOptions,
): Promise<CreateCompletionResult> {
  const chatHistory = [...messages, ...(input === undefined ? [] : messagesOf(input))]
  if (chatHistory.length === 0) throw new TypeError('createCompletion needs input or messages.')
  const request: CompletionRequest = {
    ...rest,
    chatHistory,
    documents: rest.documents ?? [],
    tools: rest.tools ?? [],
    ...(params !== undefined && { additionalParams: params }),
  }
  const asked = modelFor(model, { streaming: false, onDelta: () => undefined, onUsage: () => undefined })
  const answer = await asked.answer(request, { signal, on: () => undefined, maxAttempts: 1 })
  const response = toResponse(answer)
  return { text: answer.text, content: response.choice, usage: response.usage, response }
}
