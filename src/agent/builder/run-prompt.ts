import { createConversation } from '../../loop/conversation.js'
import { run } from '../../loop/run.js'
import type { RunParts } from '../../loop/run-parts.js'
import { isCompletionModel } from '../../model/completion-model.js'
import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { Message, UserMessage } from '../../tool/completion.js'
import { Usage } from '../../tool/message.js'
import { type AgentMiddleware, composeMiddleware } from '../../tool/middleware.js'
import { createEventTeller } from './event-teller.js'
import { answersAtOnce, modelFor } from './model-for.js'
import type { AgentStreamEvent } from './prompt-events.js'
import type { AgentSettings } from './settings.js'
import type { Steering } from './steering.js'
import { createToolSelection, type ToolSelection, textOf } from './tool-selection.js'

/** What one prompt is run with, beside what its agent is made of. */
export type PromptOptions = {
  readonly messages: readonly Message[]
  readonly steering: Steering
  readonly toolConcurrency: number
  readonly middleware: readonly AgentMiddleware[]
  readonly maxTurns?: number
  readonly maxAttempts?: number
  readonly approvals?: ToolApprovalsOptions
}

export type PromptReader = {
  readonly streaming: boolean
  readonly includeToolCallDeltas: boolean
  tell(event: AgentStreamEvent): void
}

/** Runs a prompt in the one loop. All that is to be known of it, its result or failure included, is told as events. */
export async function runPrompt(
  settings: AgentSettings,
  options: PromptOptions,
  reader: PromptReader,
  signal: AbortSignal,
): Promise<void> {
  // With the first prompt: what judges calls is no part of what importing the package costs.
  const { openGate } = await import('./open-gate.js')
  const { id: agentId, env, model } = settings
  const runId = env.idGenerator.next()
  const approvals = options.approvals ?? settings.approvals
  const { history, prompt } = split(options.messages)
  const conversation = createConversation({ messages: history })
  const selection = createToolSelection(settings, goalOf(options.messages))
  const middleware = [...composeMiddleware(settings.middleware, options.middleware), offers(selection)]
  let usage = Usage.empty()
  const teller = createEventTeller({
    tell: reader.tell,
    said: () => conversation.messages,
    ownDeltas: reader.includeToolCallDeltas && !isCompletionModel(model),
  })
  const asked = modelFor(model, {
    streaming: reader.streaming,
    onDelta: (delta) => reader.includeToolCallDeltas && teller.delta(delta),
    onUsage: (more) => {
      usage = Usage.add(usage, more)
    },
  })
  const parts: RunParts = {
    model: () => asked,
    conversation,
    instructions: () => settings.instructions,
    tools: () => selection.definitions(conversation.messages),
    gate: openGate({
      tools: selection,
      middleware,
      record: (record) => teller.record(record),
      run: { agentId, runId },
      now: () => env.clock.now(),
      newId: () => env.idGenerator.next(),
      ...(approvals !== undefined && { approvals }),
    }),
    ...limitsOf(settings, options, reader),
    request: { ...settings.request, documents: [...settings.documents] },
    middleware,
    takeSteering: () => options.steering.take(),
    answered: (answer) => {
      options.steering.answered(answer.toolCalls.length > 0)
      teller.answered(answer)
    },
    emit: (event) => teller.event(event),
    signal,
    now: () => env.clock.now(),
  }
  try {
    const { text: output } = await run(parts, prompt)
    options.steering.close()
    reader.tell({ type: 'final', runId, output, usage, messages: [...conversation.messages] })
  } catch (error) {
    options.steering.close()
    reader.tell({ type: 'error', error, usage })
    throw error
  }
}

/** The loop is given what the user says now; what was said before it stands in the conversation already. */
function split(messages: readonly Message[]): { history: readonly Message[]; prompt?: UserMessage } {
  const last = messages.at(-1)
  return last?.role === 'user' ? { history: messages.slice(0, -1), prompt: last } : { history: messages }
}

function goalOf(messages: readonly Message[]): string {
  return textOf(messages.findLast(({ role }) => role === 'user'))
}

/** Behind all other middleware: sees the request as the model gets it. */
function offers(selection: ToolSelection): AgentMiddleware {
  return {
    onCompletionRequest({ request }) {
      selection.sent(request.tools.map(({ name }) => name))
    },
  }
}

function limitsOf(
  { defaultMaxTurns, model }: AgentSettings,
  { maxTurns, maxAttempts, toolConcurrency }: PromptOptions,
  { streaming }: PromptReader,
): Pick<RunParts, 'limits' | 'retry' | 'roundsOption'> {
  return {
    limits: {
      maxToolRounds: maxTurns ?? defaultMaxTurns,
      maxParallelTasks: toolConcurrency,
      // The turns are the limit here; how a model spends them is its own affair, and an answer is whatever it said.
      duplicateToolCallThreshold: Number.POSITIVE_INFINITY,
      continuationEnabled: false,
      // A model that says all at once is silent until then, and a host's own model has its own idea of when to try again.
      ...(answersAtOnce(model, streaming) && { modelIdleTimeoutMs: Number.POSITIVE_INFINITY }),
    },
    retry: { maxAttempts: maxAttempts ?? (isCompletionModel(model) ? 1 : undefined) },
    roundsOption: maxTurns === undefined ? 'defaultMaxTurns' : 'maxTurns',
  }
}
