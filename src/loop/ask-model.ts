import { agreedFinish } from '../model/answer-builder.js'
import { type Admission, circuitOpenMs } from '../model/circuits.js'
import { CompletionCapabilityError } from '../model/completion-capability.js'
import { ModelError } from '../model/errors.js'
import { correctionOf, estimateTokens } from '../model/estimate-tokens.js'
import { lowerHistory } from '../model/lower-history.js'
import type { Model, ModelAnswer, ModelCall, ModelEvent, ModelToolCall } from '../model/model.js'
import { costOf } from '../model/usage.js'
import type { CompletionRequest, CompletionResponse, Message, ToolCallContent } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import { reasoningText } from '../tool/message.js'
import { applyCompletionRequest, applyCompletionResponse } from '../tool/middleware.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import type { BudgetRequest } from './budget.js'
import { checkAnswer } from './check-answer.js'
import { type Ask, compactConversation } from './compaction/compact.js'
import { gaugeOf } from './context-gauge.js'
import { quarantine } from './quarantine.js'
import type { ObservedEvent, RequestWatch } from './run-parts.js'
import { countAnswer, type RunState } from './run-state.js'
import { snakeUsage, type Usage, usageOf } from './usage.js'

/**
 * Gets one answer from the model, from the request to its usage. If the request was too long or the provider refused
 * its content, the conversation is changed and the request sent once more.
 */
export async function askModel(state: RunState, ask: Ask): Promise<ModelAnswer> {
  try {
    return await askOnce(state)
  } catch (error) {
    if (!(error instanceof ModelError) || error.emitted || !(await mended(state, ask, error))) throw error
    return askOnce(state)
  }
}

async function mended(state: RunState, ask: Ask, error: ModelError): Promise<boolean> {
  if (state.parts.strictCapabilities === true && error instanceof CompletionCapabilityError) return false
  if (error.code === 'model_context_overflow') return compactConversation(state, ask, { tooLong: error })
  return error.code === 'model_request_refused' && quarantine(state, error)
}

/** Appends the answer to the conversation. An empty answer is not appended. */
export async function keepAnswer({ parts, answeredBy }: RunState, answer: ModelAnswer): Promise<void> {
  const { content, response, usage } = answer
  if (content.length === 0) return
  const { provider, id, facts } = answeredBy ?? parts.model()
  await parts.conversation.append(
    { role: 'assistant', content, ...omitUndefined({ id: response.id }) },
    {
      usage: usageOf(usage),
      model: { provider, id },
      ...(facts.price !== undefined && { costUsd: costOf(usage, facts.price) }),
    },
  )
}

/** Asks the model of the run, and the fallback models in their order while that can help. */
async function askOnce(state: RunState): Promise<ModelAnswer> {
  const { parts, signal } = state
  const request = await unlessAborted(requestFor(state), signal)
  // Middleware may replace the model's answer, so nothing is emitted before that.
  const held = (parts.middleware ?? []).some((one) => one.onCompletionResponse !== undefined)
  const models = [parts.model(), ...(parts.fallbacks?.() ?? [])]
  for (let at = 0; ; at++) {
    const [model = parts.model(), next] = models.slice(at)
    const heard: Heard = { text: '', any: false, over: false }
    try {
      const answer = await askThis(state, model, request, heard, held)
      state.fallbackModel = at === 0 ? undefined : labelOf(model)
      return answer
    } catch (error) {
      heard.over = true
      if (next !== undefined && !signal.aborted && mayFallBack(error)) {
        if (heard.any && !held) restart(state, error.message)
        const [from, to] = [labelOf(model), labelOf(next)]
        const { message: reason, code } = error
        parts.emit({ type: 'model_fallback', turn: state.rounds, from, to, reason, code })
        continue
      }
      // The partial text was already shown, so it is added to the history.
      if (heard.text !== '' && !held)
        await parts.conversation.append({ role: 'assistant', content: [{ type: 'text', text: heard.text }] })
      throw error
    }
  }
}

/** The partial answer of one model. */
type Heard = { text: string; any: boolean; over: boolean }

/**
 * A request that is too long, or whose content was refused, is not sent to another model: the loop changes it first.
 */
function mayFallBack(error: unknown): error is ModelError {
  if (!(error instanceof ModelError)) return false
  return error.code !== 'model_context_overflow' && error.code !== 'model_request_refused'
}

async function askThis(
  state: RunState,
  model: Model,
  request: CompletionRequest,
  heard: Heard,
  held: boolean,
): Promise<ModelAnswer> {
  const { parts, signal } = state
  const admission = parts.circuits?.of(model).admit(parts.now())
  let ended = false
  let watch: RequestWatch | undefined
  const estimated = estimateTokens(request)
  const expected = Math.ceil(estimated * gaugeOf(parts.conversation).correction)
  const judged = { model: labelOf(model), price: model.facts.price, maxTokens: request.maxTokens }
  try {
    const allowed = parts.budget?.beforeModel(expected, judged)
    if (allowed !== undefined) await unlessAborted(allowed, signal)
    await observe(state, 'generate_start', () => ({
      prompt: state.goal,
      system_prompt: request.instructions ?? '',
      model_provider: model.provider,
      model_name: model.id,
      available_tools: request.tools.map(({ name }) => name),
    }))
    const startedAt = parts.now()
    watch = parts.watchRequest?.(model, request)
    const answered = await unlessAborted(
      ask(
        model,
        request,
        callFor(state, admission, watch, (event) => heard.over || hear(state, model, event, heard, held)),
      ),
      signal,
    )
    // Events that a model emits after its answer are ignored.
    heard.over = true
    checkAnswer(model, answered)
    ended = true
    watch?.answered(answered)
    admission?.worked()
    state.answeredBy = model
    countTokens(state, usageOf(answered.usage), estimated)
    const answer = held ? await replaceAnswer(state, model, request, answered, judged) : answered
    const { usage, spent } = spend(state, model, answer.usage, judged)
    if (held) emitAnswer(state, answer)
    if (spent !== undefined) await unlessAborted(spent, signal)
    const taken = parts.answered?.(answer)
    if (taken !== undefined) await unlessAborted(taken, signal)
    parts.emit({ type: 'turn_end', turn: state.rounds, usage, finish: answer.finish })
    await observe(state, 'generate_end', () => ({
      prompt: state.goal,
      model_provider: model.provider,
      model_name: model.id,
      response_text: answer.text,
      tool_calls: answer.toolCalls.map(({ id, name, input }) => ({ id, name, input })),
      usage: snakeUsage(usage),
      duration_ms: parts.now() - startedAt,
    }))
    return answer
  } catch (error) {
    if (!ended) watch?.failed(error)
    if (!ended && admission !== undefined) noteFailure(state, model, admission, error)
    // If the model had begun to answer, the request has to be paid for.
    if (!ended) await parts.budget?.abandoned(heard.any ? expected : 0, judged)
    throw error
  }
}

function callFor(
  { parts, limits, signal }: RunState,
  admission: Admission | undefined,
  watch: RequestWatch | undefined,
  on: ModelCall['on'],
): ModelCall {
  return {
    signal,
    on,
    idleTimeoutMs: limits.modelIdleTimeoutMs,
    limits,
    retry: parts.retry,
    restarts: true,
    headersFor: watch?.headersFor,
    // A probe of a model whose circuit was open is sent only once, because other requests wait for its outcome.
    ...(admission?.probe && { maxAttempts: 1 }),
    ...omitUndefined({ timeoutMs: limits.llmApiTimeoutMs, sessionId: parts.sessionId }),
  }
}

function noteFailure({ parts, limits }: RunState, model: Model, admission: Admission, error: unknown): void {
  const failures = admission.failed(error, limits.circuitBreakerThreshold, parts.now())
  if (failures === undefined) return
  const reason = messageOf(error)
  parts.emit({
    type: 'model_circuit_opened',
    model: labelOf(model),
    failures,
    openMs: circuitOpenMs,
    reason,
  })
}

function labelOf({ provider, id }: Model): string {
  return `${provider}/${id}`
}

/** An async function, so that an exception of the model becomes a rejection. */
async function ask(...[model, request, call]: [Model, ...Parameters<Model['answer']>]): Promise<ModelAnswer> {
  return model.answer(request, call)
}

async function requestFor(state: RunState): Promise<CompletionRequest> {
  const { parts } = state
  const instructions = await parts.instructions()
  const tools = (await parts.tools?.(state.goal, state.rounds)) ?? []
  const request: CompletionRequest = {
    chatHistory: lowerHistory(parts.conversation.view) as Message[],
    documents: parts.request?.documents ?? [],
    tools: tools as CompletionRequest['tools'],
    ...omitUndefined({ instructions }),
    ...parts.request,
    ...(state.rounds === 1 && parts.firstRequest),
  }
  if (!parts.middleware?.some((one) => one.onCompletionRequest !== undefined)) return request
  // Middleware may store a request or change it in place; neither must affect the conversation.
  const own = { ...request, chatHistory: [...request.chatHistory], tools: [...request.tools] }
  return applyCompletionRequest(parts.middleware, { turn: state.rounds, request: own })
}

function hear(state: RunState, model: Model, event: ModelEvent, heard: Heard, held: boolean): void {
  const { emit } = state.parts
  if (event.type !== 'retry' && event.type !== 'rate_limit_wait') heard.any = true
  switch (event.type) {
    case 'text':
      heard.text += event.text
      if (!held) emit({ type: 'text_delta', text: event.text })
      return
    case 'reasoning':
      if (!held) emit({ type: 'reasoning_delta', text: event.text })
      return
    case 'tool_call':
      if (!held) emit({ type: 'tool_start', toolId: event.id, toolName: event.name })
      return
    case 'tool_input':
      if (!held) emit({ type: 'tool_input_delta', toolId: event.id, text: event.text })
      return
    case 'rate_limit_wait':
      emit({ type: 'model_rate_limit_wait', model: labelOf(model), waitMs: event.waitMs })
      return
    case 'retry': {
      const { restart: _, ...retry } = event
      if (heard.any && !held) restart(state, event.reason)
      heard.text = ''
      heard.any = false
      emit({ ...retry, type: 'model_retry' })
      if (event.status === 429) void observe(state, 'on_rate_limit', () => rateLimit(state, event))
    }
  }
}

function restart({ parts, rounds }: RunState, reason: string): void {
  parts.emit({ type: 'answer_restarted', turn: rounds, reason })
}

function rateLimit(
  { parts }: RunState,
  { attempt, delayMs, reason }: Extract<ModelEvent, { type: 'retry' }>,
): Readonly<Record<string, unknown>> {
  const { provider, id } = parts.model()
  return {
    model_provider: provider,
    model_name: id,
    attempt,
    retry_after_ms: delayMs,
    error_message: reason,
  }
}

/** Emits the answer that was withheld from the stream, each part as one event. */
function emitAnswer({ parts: { emit } }: RunState, answer: ModelAnswer): void {
  for (const part of answer.content) {
    if (part.type === 'text') emit({ type: 'text_delta', text: part.text })
    else if (part.type === 'reasoning') emit({ type: 'reasoning_delta', text: reasoningText(part) })
    else if (part.type === 'tool_call') {
      emit({ type: 'tool_start', toolId: part.id, toolName: part.function.name })
      emit({ type: 'tool_input_delta', toolId: part.id, text: serializeToolOutput(part.function.arguments) })
    }
  }
}

/** Adds the usage of an answer to the run, and reports it to the budget. */
function spend(
  state: RunState,
  model: Model,
  used: ModelAnswer['usage'],
  judged: BudgetRequest,
): { readonly usage: Usage; readonly spent: Promise<void> | undefined } {
  const usage = countAnswer(state, used)
  const costUsd = model.facts.price && costOf(used, model.facts.price)
  if (costUsd !== undefined) state.costUsd = (state.costUsd ?? 0) + costUsd
  return { usage, spent: state.parts.budget?.afterModel(usage, costUsd, judged) }
}

/**
 * Returns the answer after `onCompletionResponse`, with the choice, usage and message id of the response that it
 * returned.
 */
async function replaceAnswer(
  state: RunState,
  model: Model,
  request: CompletionRequest,
  answer: ModelAnswer,
  judged: BudgetRequest,
): Promise<ModelAnswer> {
  const { middleware = [] } = state.parts
  const response = toResponse(answer)
  try {
    const applied = applyCompletionResponse(middleware, { turn: state.rounds, request, response })
    const replaced = await unlessAborted(applied, state.signal)
    return isUnchanged(replaced, response, answer) ? answer : answerFrom(model, answer, replaced)
  } catch (error) {
    // The provider charges for the answer even if middleware fails.
    void spend(state, model, answer.usage, judged).spent?.catch(() => undefined)
    throw error
  }
}

/**
 * Returns an answer in the form that middleware and hosts get. `rawResponse` is the provider's response, or the known
 * part of it.
 */
export function toResponse({ content, usage, response, raw = response }: ModelAnswer): CompletionResponse {
  return {
    choice: [...content],
    usage,
    rawResponse: raw,
    ...omitUndefined({ messageId: response.id }),
  }
}

/** Compares the parts too: middleware can change the list in place and return the response that it was given. */
function isUnchanged(
  replaced: CompletionResponse,
  given: CompletionResponse,
  { content }: ModelAnswer,
): boolean {
  return (
    replaced === given &&
    given.choice.length === content.length &&
    given.choice.every((part, at) => part === content[at])
  )
}

function answerFrom(model: Model, answer: ModelAnswer, replaced: CompletionResponse): ModelAnswer {
  const { choice: content, usage = answer.usage, rawResponse: raw, messageId } = replaced
  const { id: _, ...response } = answer.response
  if (!Array.isArray(content))
    throw new TypeError('onCompletionResponse returned a response without a choice.')
  const toolCalls = content.flatMap((part) => (part.type === 'tool_call' ? [callFrom(part)] : []))
  const made: ModelAnswer = {
    content,
    text: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
    toolCalls,
    usage,
    finish: agreedFinish(answer.finish, toolCalls.length > 0),
    raw,
    response: { ...response, ...omitUndefined({ id: messageId }) },
  }
  checkAnswer(model, made)
  return made
}

function callFrom({ id, callId, function: { name, arguments: given } }: ToolCallContent): ModelToolCall {
  return { id, name, input: serializeToolOutput(given), ...omitUndefined({ callId }) }
}

/** Updates the gauge with the provider's token counts: the correction of estimates, and whether its cache was hit. */
function countTokens({ parts }: RunState, usage: Usage, estimated: number): void {
  const gauge = gaugeOf(parts.conversation)
  const before = gauge.counted?.tokens ?? 0
  gauge.refusals = 0
  if (gauge.room !== undefined) {
    gauge.failedCompactions = usage.promptTokens > gauge.room ? gauge.failedCompactions + 1 : 0
    gauge.room = undefined
  }
  gauge.correction = correctionOf(estimated, usage.promptTokens)
  gauge.counted = {
    tokens: usage.promptTokens + usage.completionTokens,
    messages: parts.conversation.view.length + 1,
  }
  if (gauge.sawCache && usage.cacheReadTokens < before / 2 && before > minCachedPromptLength)
    parts.emit({ type: 'cache_miss', expectedTokens: before, cachedTokens: usage.cacheReadTokens })
  if (usage.cacheReadTokens > 0) gauge.sawCache = true
}

/** Providers do not cache prompts shorter than about this many tokens. */
const minCachedPromptLength = 2_048

async function observe(
  { parts }: RunState,
  event: ObservedEvent,
  payload: () => Readonly<Record<string, unknown>>,
): Promise<void> {
  if (parts.observe === undefined || parts.isObserved?.(event) === false) return
  try {
    await parts.observe(event, payload())
  } catch (error) {
    parts.emit({ type: 'notice', source: event, message: messageOf(error) })
  }
}
