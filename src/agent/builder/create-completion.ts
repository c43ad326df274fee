import { toResponse } from '../../loop/ask-model.js'
import type {
  AssistantContent,
  CompletionRequest,
  CompletionResponse,
  CompletionUsage,
  Message,
} from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { modelFor } from './model-for.js'
import { messagesOf, type PromptInput } from './prompt-request.js'
import type { BuilderModel } from './settings.js'

/** The request of `createCompletion`. */
export type CreateCompletionOptions = Pick<
  Partial<CompletionRequest>,
  'instructions' | 'documents' | 'tools' | 'temperature' | 'maxTokens' | 'toolChoice' | 'outputSchema'
> & {
  /** The prompt, after `messages`. At least one of the two is required. */
  readonly input?: PromptInput
  readonly messages?: readonly Message[]
  /** Additional parameters for the provider. */
  readonly params?: JsonObject
  readonly signal?: AbortSignal
}

/** The result of `createCompletion`. */
export type CreateCompletionResult = {
  readonly text: string
  readonly content: AssistantContent[]
  readonly usage: CompletionUsage
  readonly response: CompletionResponse
}

/**
 * Sends one request to a model. Tools are not run, and a failed request is not retried.
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
    ...omitUndefined({ additionalParams: params }),
  }
  const asked = modelFor(model, { streaming: false, onDelta: () => undefined, onUsage: () => undefined })
  const answer = await asked.answer(request, { signal, on: () => undefined, maxAttempts: 1 })
  const response = toResponse(answer)
  return { text: answer.text, content: response.choice, usage: response.usage, response }
}
