import type { ModelAnswer, ModelToolCall } from '../model/model.js'
import type { ToolCallStreamEvent } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { exitCodeOf, outputText } from '../tool/tool-result.js'
import { CallOrder } from './call-order.js'
import { RunError } from './errors.js'
import type { CallDecision, CallRecord, GateOutcome, Step } from './gate-parts.js'
import type { CallingAnswer, UnfinishedRound } from './run-parts.js'
import type { RunState } from './run-state.js'
import { envelopesOf, toolMessage } from './tool-message.js'

/**
 * Runs the calls of one answer, at most `maxParallelTasks` at a time and conflicting ones in order. Afterwards every
 * call has its result in the conversation, in the order in which the model wrote the calls. An error that ends the
 * run is thrown only then: no call starts after it, and calls that have started are awaited.
 */
export async function callTools(
  state: RunState,
  answer: CallingAnswer,
  settled?: UnfinishedRound['settled'],
): Promise<void> {
  const { toolCalls } = answer
  const order = new CallOrder(state.limits.maxParallelTasks)
  const ending: (Ended | Promise<Ended>)[] = []
  for (const call of toolCalls) {
    const envelope = settled?.get(call.id)
    ending.push(envelope === undefined ? callOne(state, answer, call, order) : { envelope, fromBefore: true })
  }
  const ended = await Promise.all(ending)
  const fatal = ended.find((outcome) => outcome.fatal !== undefined)?.fatal
  await saveResults(state, toolCalls, ended, fatal)
}

/** Answers calls that do not run, with the reason. */
export async function refuseCalls(state: RunState, { toolCalls }: ModelAnswer, why: string): Promise<void> {
  const refused = toolCalls.map((call) => ({
    ...call,
    envelope: errorEnvelope(`Tool "${call.name}" was not run: ${why}.`),
  }))
  await state.parts.conversation.append(toolMessage(refused), envelopesOf(refused))
}

type Ended = Pick<GateOutcome, 'envelope' | 'fatal'> & {
  readonly endedAt?: Step | undefined
  readonly fromBefore?: true | undefined
}

async function callOne(
  state: RunState,
  answer: CallingAnswer,
  call: ModelToolCall,
  order: CallOrder,
): Promise<Ended> {
  const { emit } = state.parts
  const slot = order.add()
  let ended = false
  try {
    const entering = slot.enter()
    const hasEntered = typeof entering === 'boolean' ? entering : await entering
    const refusal = reasonNotToRun(state, answer, call, !hasEntered)
    if (refusal !== undefined) {
      const envelope = errorEnvelope(`Tool "${call.name}" was not run: ${refusal}.`)
      emitEnd(state, call, envelope)
      return { envelope }
    }
    emit({ type: 'tool_execution_start', toolId: call.id, toolName: call.name, args: call.input })
    const outcome = await state.parts.gate?.call({
      name: call.name,
      input: { text: call.input },
      origin: 'model',
      toolCallId: call.id,
      providerCallId: call.callId,
      turn: state.rounds,
      signal: state.signal,
      slot,
      progress: (partial) => {
        if (!ended) emitOutput(state, call, partial)
      },
      emitStreamEvent: (event, callId) => {
        if (!ended) emitInside(state, call, event, callId)
      },
    })
    // Later reports of an abandoned tool are dropped.
    ended = true
    if (outcome === undefined) return { envelope: errorEnvelope('No tools can be called here.') }
    const { envelope, record } = outcome
    for (const message of record.notices ?? []) emit({ type: 'notice', source: call.name, message })
    if (envelope.type === 'error' && denied.has(record.endedAt))
      emit({
        type: 'permission_denied',
        toolId: call.id,
        toolName: call.name,
        reason: envelope.error_text,
        ...omitUndefined({ paths: record.paths }),
      })
    emitEnd(state, call, envelope, record)
    state.parts.callEnded?.(call.id, envelope)
    if (outcome.fatal !== undefined) order.end()
    return { ...outcome, endedAt: record.endedAt }
  } finally {
    // After `end`: a call that waits for this one must not start.
    slot.exit()
  }
}

const denied: ReadonlySet<Step> = new Set<Step>([
  'capability',
  'rules',
  'watchdog',
  'hooks',
  'approval',
  'budget',
])

function reasonNotToRun(
  state: RunState,
  { finish, toolCalls }: CallingAnswer,
  call: ModelToolCall,
  over: boolean,
): string | undefined {
  if (over) return 'the run was ended by another call'
  if (state.signal.aborted) return 'the run was aborted'
  const unfinished = finish === 'length' || finish === 'content_filter'
  // A call that was cut off may still be valid JSON, but half a file is not what the model intended.
  if (unfinished && call === toolCalls.at(-1))
    return finish === 'length'
      ? 'your answer reached the output limit while you wrote this call. Write less at once, in several calls'
      : 'the provider cut your answer off while you wrote this call'
  return undefined
}

function emitOutput({ parts }: RunState, call: ModelToolCall, partial: unknown): void {
  const text = serializeToolOutput(partial)
  const whole = typeof partial === 'string' ? undefined : true
  parts.emit({ type: 'tool_output_delta', toolId: call.id, toolName: call.name, text, whole })
}

/**
 * Copies field by field, so that an agent inside a tool cannot set other fields of the event. Events without an id
 * are dropped.
 */
function emitInside(
  { parts }: RunState,
  call: ModelToolCall,
  { agentId, agentName, event }: ToolCallStreamEvent,
  callId: string,
): void {
  if (typeof agentId !== 'string' || agentId === '') return
  parts.emit({
    type: 'agent_tool_event',
    toolId: call.id,
    toolName: call.name,
    callId,
    agentId,
    agentName: typeof agentName === 'string' ? agentName : undefined,
    event,
  })
}

function emitEnd(
  { parts }: RunState,
  call: ModelToolCall,
  envelope: Envelope,
  record?: CallRecord | undefined,
): void {
  parts.emit({
    type: 'tool_end',
    toolId: call.id,
    toolName: call.name,
    toolOutput: outputText(envelope),
    exitCode: exitCodeOf(envelope),
    isError: envelope.type === 'error',
    metadata: envelope.metadata,
    ...omitUndefined({ paths: record?.paths, decision: record && decisionIn(record) }),
  })
}

function decisionIn({ endedAt, durationMs, judged, watchdog, hooks, approval }: CallRecord): CallDecision {
  return { endedAt, durationMs, ...omitUndefined({ judged, watchdog, hooks, approval }) }
}

async function saveResults(
  state: RunState,
  calls: readonly ModelToolCall[],
  ended: readonly Ended[],
  fatal: { readonly error: unknown } | undefined,
): Promise<void> {
  let stop: { readonly error: unknown } | undefined = fatal
  const answered = calls.map((call, at) => {
    const { endedAt, envelope, fromBefore }: Ended = ended[at] ?? {
      envelope: errorEnvelope('It was not run.'),
    }
    if (fromBefore) return { ...call, envelope }
    state.toolCallsCount++
    state.malformed = endedAt === 'parse' ? state.malformed + 1 : 0
    try {
      return { ...call, envelope: state.repetition.note(call.name, call.input, envelope) }
    } catch (error) {
      stop ??= { error }
      return { ...call, envelope }
    }
  })
  await state.parts.conversation.append(toolMessage(answered), envelopesOf(answered))
  const { maxParseRetries } = state.limits
  if (state.malformed > maxParseRetries)
    stop ??= {
      error: new RunError(
        'malformed_calls',
        `The model wrote arguments that are not JSON ${state.malformed} times in a row (maxParseRetries is ${maxParseRetries}), so the run was stopped.`,
      ),
    }
  if (stop !== undefined) throw stop.error
}
