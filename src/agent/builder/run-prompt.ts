import { toResponse } from '../../loop/ask-model.js'
import { createConversation } from '../../loop/conversation.js'
import { run } from '../../loop/run.js'
import type { RunParts } from '../../loop/run-parts.js'
import { isCompletionModel } from '../../model/completion-model.js'
import type { ModelUsage } from '../../model/model.js'
import type { RetryTiming } from '../../model/retry.js'
import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { Message, UserMessage } from '../../tool/completion.js'
import type { RunIdentity } from '../../tool/contract.js'
import type { JsonObject } from '../../tool/json.js'
import { Usage } from '../../tool/message.js'
import { mergeMetadata } from '../../tool/metadata.js'
import { type AgentMiddleware, composeMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { CompletionRetries } from './completion-retries.js'
import { dynamicContext } from './dynamic-context.js'
import type { AgentHook } from './hook.js'
import { hookRun } from './hooked-run.js'
import { answersAtOnce, modelFor } from './model-for.js'
import { createPromptEventEmitter } from './prompt-event-emitter.js'
import type { AgentStreamEvent } from './prompt-events.js'
import { type PromptMemory, saveConversation } from './prompt-memory.js'
import type { AgentSettings } from './settings.js'
import type { Steering } from './steering.js'
import { createToolSelection, type ToolSelection, textOf } from './tool-selection.js'

/** The options of one prompt, in addition to the settings of its agent. */
export type PromptOptions = {
  readonly messages: readonly Message[]
  readonly steering: Steering
  readonly toolConcurrency: number
  readonly middleware: readonly AgentMiddleware[]
  readonly maxTurns?: number
  readonly retries?: CompletionRetries
  readonly approvals?: ToolApprovalsOptions
  readonly hook?: AgentHook
  readonly metadata?: JsonObject
  readonly memory?: PromptMemory
}

export type PromptReader = {
  readonly streaming: boolean
  readonly includeToolCallDeltas: boolean
  emit(event: AgentStreamEvent): void
}

/** Runs a prompt in the loop. Everything, including its result or failure, is emitted as events. */
export async function runPrompt(
  settings: AgentSettings,
  options: PromptOptions,
  reader: PromptReader,
  signal: AbortSignal,
): Promise<void> {
  // Loaded with the first prompt, so that importing the package does not load the gate.
  const { openGate } = await import('./open-gate.js')
  const { env, model } = settings
  const { memory } = options
  const runId = env.idGenerator.next()
  const approvals = options.approvals ?? settings.approvals
  const { history, prompt } = split(options.messages)
  const loaded = memory === undefined ? [] : await loadMessages(memory, reader)
  const live: { turn: number } = { turn: 0 }
  const plain = createConversation({ messages: [...loaded, ...history] })
  const saved = memory && saveConversation(plain, memory, { runId, turn: () => live.turn })
  const conversation = saved ?? plain
  const ownFrom = loaded.length + options.messages.length - 1
  const own = (): readonly Message[] => conversation.messages.slice(ownFrom)
  const hooked = hookRun(options.hook ?? settings.hook ?? {}, {
    conversation: () => conversation.messages,
    own,
  })
  const selection = createToolSelection(settings, goalOf(options.messages))
  const middleware = [
    ...hooked.first,
    ...dynamicContext(settings.dynamicContexts, () => conversation.messages),
    ...composeMiddleware(settings.middleware, options.middleware),
    ...hooked.last,
    offers(selection),
  ]
  const spent = new SpentTokens()
  const teller = createPromptEventEmitter({
    emit: reader.emit,
    conversation: () => conversation.messages,
    ownDeltas: reader.includeToolCallDeltas && !isCompletionModel(model),
  })
  const asked = modelFor(model, {
    streaming: reader.streaming,
    onDelta: (delta) => reader.includeToolCallDeltas && teller.delta(delta),
    onUsage: (usage) => spent.answered(usage),
    onError: (error) => hooked.completionFailed(error),
  })
  const parts: RunParts = {
    model: () => asked,
    conversation,
    instructions: () => settings.instructions,
    tools: () => selection.definitions(conversation.messages),
    gate: openGate({
      tools: selection,
      middleware,
      record: async (record) => {
        teller.record(record)
        await hooked.recorded(record, record.toolCallId && teller.callIdOf(record.toolCallId))
      },
      run: identityOf(settings, options, runId),
      now: () => env.clock.now(),
      newId: () => env.idGenerator.next(),
      ...omitUndefined({ before: hooked.before, approvals }),
    }),
    ...limitsOf(settings, options, reader, () => live.turn),
    strictCapabilities: true,
    request: { ...settings.request, documents: [...settings.documents] },
    middleware,
    takeSteering: () => options.steering.take(),
    answered: (answer) => {
      options.steering.answered(answer.toolCalls.length > 0)
      spent.taken(answer.usage)
      teller.answered(answer)
      return hooked.turnEnded(live.turn, toResponse(answer))
    },
    emit: (event) => {
      if (event.type === 'turn_start') live.turn = event.turn
      teller.event(event)
    },
    signal,
    now: () => env.clock.now(),
  }
  try {
    await hooked.started(options.messages, maxTurnsOf(settings, options))
    const { text: output } = await run(parts, prompt)
    await saved?.finish()
    await hooked.ended({ output, usage: spent.usage })
    options.steering.close()
    reader.emit({ type: 'final', runId, output, usage: spent.usage, messages: [...own()] })
  } catch (error) {
    options.steering.close()
    const usage = spent.usage
    // The first failure is reported, even if its handlers also fail.
    await Promise.allSettled([
      hooked.failed(error, usage),
      memory?.store.recordError?.({ context: memory.context, runId, error, messages: [...own()] }),
    ])
    reader.emit({ type: 'error', error, usage })
    throw error
  }
}

async function loadMessages({ store, context }: PromptMemory, { emit }: PromptReader): Promise<Message[]> {
  try {
    return await store.load(context)
  } catch (error) {
    emit({ type: 'error', error, usage: Usage.empty() })
    throw error
  }
}

/** Counts the tokens of a run. A replaced answer counts with its new usage, a failed one with its own. */
class SpentTokens {
  #total = Usage.empty()
  #open: ModelUsage | undefined

  get usage(): Usage {
    return this.#open === undefined ? this.#total : Usage.add(this.#total, countable(this.#open))
  }

  answered(usage: ModelUsage): void {
    this.#total = this.usage
    this.#open = usage
  }

  taken(usage: ModelUsage): void {
    this.#open = undefined
    this.#total = Usage.add(this.#total, countable(usage))
  }
}

/** Renames the field for tokens written to a cache, which has another name in built-in models. */
function countable({ cacheWriteTokens, ...usage }: ModelUsage): Usage {
  return cacheWriteTokens === undefined ? usage : { cacheCreationInputTokens: cacheWriteTokens, ...usage }
}

function identityOf(
  { id: agentId, metadata: own }: AgentSettings,
  { metadata: given, memory }: PromptOptions,
  runId: string,
): RunIdentity {
  const metadata = mergeMetadata(own, given)
  return {
    agentId,
    runId,
    ...omitUndefined({
      sessionId: memory?.context.sessionId,
      metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    }),
  }
}

/** The prompt for the loop is the last user message; earlier messages are in the conversation. */
function split(messages: readonly Message[]): { history: readonly Message[]; prompt?: UserMessage } {
  const last = messages.at(-1)
  return last?.role === 'user' ? { history: messages.slice(0, -1), prompt: last } : { history: messages }
}

function goalOf(messages: readonly Message[]): string {
  return textOf(messages.findLast(({ role }) => role === 'user'))
}

/**
 * Middleware that records the tools of each request. It runs after all other middleware, so it gets the request as it
 * is sent to the model.
 */
function offers(selection: ToolSelection): AgentMiddleware {
  return {
    onCompletionRequest({ request }) {
      selection.sent(request.tools.map(({ name }) => name))
    },
  }
}

function maxTurnsOf(
  { defaultMaxTurns }: AgentSettings,
  { maxTurns = defaultMaxTurns }: PromptOptions,
): number {
  return maxTurns
}

function limitsOf(
  settings: AgentSettings,
  options: PromptOptions,
  { streaming }: PromptReader,
  turn: () => number,
): Pick<RunParts, 'limits' | 'retry' | 'roundsOption'> {
  const { model } = settings
  return {
    limits: {
      maxToolRounds: maxTurnsOf(settings, options),
      maxParallelTasks: options.toolConcurrency,
      // Only the number of turns is limited: repeated calls and empty answers are allowed.
      duplicateToolCallThreshold: Number.POSITIVE_INFINITY,
      continuationEnabled: false,
      // A model without streaming sends nothing until its answer is complete. A completion model of the host handles
      // retries itself.
      ...omitUndefined({
        modelIdleTimeoutMs: answersAtOnce(model, streaming) ? Number.POSITIVE_INFINITY : undefined,
      }),
    },
    retry: retryOf(settings, options.retries, streaming, turn),
    roundsOption: options.maxTurns === undefined ? 'defaultMaxTurns' : 'maxTurns',
  }
}

function retryOf(
  { model, env: { clock } }: AgentSettings,
  retries: CompletionRetries | undefined,
  streaming: boolean,
  turn: () => number,
): RetryTiming {
  const { sleep } = clock
  const waits =
    sleep === undefined ? {} : { sleep: (ms: number, stop: AbortSignal) => sleep.call(clock, ms, stop) }
  if (retries === undefined) return { ...waits, maxAttempts: isCompletionModel(model) ? 1 : undefined }
  const { maxAttempts, initialDelayMs: baseDelayMs, maxDelayMs, shouldRetry } = retries
  return {
    ...waits,
    maxAttempts,
    baseDelayMs,
    maxDelayMs,
    shouldRetry:
      shouldRetry &&
      (({ error, attempt }) => shouldRetry({ error, attempt, maxAttempts, turn: turn(), streaming })),
  }
}
