import type { AgentStreamEvent, PromptRequest, PromptResponse } from '../../src/agent/builder/index.js'
import type { CompletionStreamEvent, StreamingCompletionModel } from '../../src/model/completion-model.js'
import type {
  AssistantContent,
  CompletionRequest,
  Message,
  ToolResultPart,
} from '../../src/tool/completion.js'

type Answer = AssistantContent[] | ((request: CompletionRequest) => AssistantContent[])
export type QueueModel = StreamingCompletionModel & { readonly requests: CompletionRequest[] }

/** A host's own model that gives the answers it was made with, one a request, whole or in pieces. */
export function queueModel(...answers: Answer[]): QueueModel {
  const requests: CompletionRequest[] = []
  const next = (request: CompletionRequest): AssistantContent[] => {
    const answer = answers[requests.push(request) - 1]
    if (answer === undefined) throw new Error(`No answer for request ${requests.length}`)
    return typeof answer === 'function' ? answer(request) : answer
  }
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 }
  return {
    provider: 'own',
    defaultModel: 'queue',
    capabilities: {
      streaming: true,
      tools: true,
      toolChoice: true,
      imageInput: true,
      documentInput: true,
      outputSchema: true,
      reasoning: true,
    },
    requests,
    completion: async (request) => ({ choice: next(request), usage, rawResponse: {} }),
    async *streamCompletion(request) {
      const choice = next(request)
      for (const part of choice) yield* piecesOf(part)
      yield { type: 'final', response: { choice, usage, rawResponse: {} } }
    },
  }
}

function piecesOf(part: AssistantContent): CompletionStreamEvent[] {
  if (part.type === 'text') return [{ type: 'text_delta', delta: part.text }]
  if (part.type === 'reasoning') return [{ type: 'reasoning_delta', delta: part.text }]
  return part.type === 'tool_call' ? [{ type: 'tool_call', toolCall: part }] : []
}

export const ways = ['send', 'stream'] as const

/** The result of a prompt, whichever way it is asked for. */
export async function resultOf(
  request: PromptRequest,
  way: (typeof ways)[number],
  events: AgentStreamEvent[] = [],
): Promise<PromptResponse> {
  if (way === 'send') return request.send()
  for await (const event of request.stream()) events.push(event)
  const last = events.at(-1)
  if (last?.type !== 'final') throw new Error('The stream ended without a result')
  const { type: _, ...response } = last
  return response
}

/** The results that a model was shown last. */
export function resultsIn(messages: readonly Message[] | undefined): ToolResultPart[] {
  const last = messages?.findLast(({ role }) => role === 'tool')
  return last?.role === 'tool' ? last.content : []
}

/** The same as texts. */
export function textsIn(messages: readonly Message[] | undefined): string[] {
  return resultsIn(messages).map(({ content }) =>
    content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n'),
  )
}
