import type { ModelAnswer, ModelToolCall } from '../model/model.js'
import type { ToolCallStreamEvent } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { toToolResult } from '../tool/tool-result.js'
import { callInOrder, type Place } from './call-order.js'
import { RunError } from './errors.js'
import type { CallRecord, GateOutcome, Step } from './gate-parts.js'
import type { CallingAnswer, UnfinishedRound } from './run-parts.js'
import type { RunState } from './run-state.js'
import { envelopesOf, toolMessage } from './tool-message.js'

/**
 * Runs the calls of one answer: as many at once as is allowed and they do not stand in each other's way. Every call has its result
 * in the conversation afterwards, in the order the model wrote them. What ends the run is thrown only then; nothing new starts
 * after it, and what had started is waited for.
 */
export async function callTools(
  state: RunState,
  answer: CallingAnswer,
  settled?: UnfinishedRound['settled'],
): Promise<void> {
  const { toolCalls } = answer
  const ended = await callInOrder(
    toolCalls,
    state.limits.maxParallelTasks,
    async (call, place, over): Promise<Ended> => {
      const envelope = settled?.get(call.id)
      return envelope === undefined ? one(state, answer, call, place, over) : { envelope, fromBefore: true }
    },
  )
  const fatal = ended.find((outcome) => outcome.fatal !== undefined)?.fatal
  await keep(state, toolCalls, ended, fatal)
}

/** Answers calls that do not run at all. */
export async function refuseCalls(state: RunState, { toolCalls }: ModelAnswer, why: string): Promise<void> {
  const refused = toolCalls.map((call) => ({
    ...call,
    envelope: errorEnvelope(`Tool "${call.name}" was not run: ${why}.`),
  }))
  await state.parts.conversation.append(toolMessage(refused), envelopesOf(refused))
}

type Ended = Pick<GateOutcome, 'envelope' | 'fatal'> & {
  readonly endedAt?: Step
  readonly fromBefore?: true
}

async function one(
  state: RunState,
  answer: CallingAnswer,
  call: ModelToolCall,
  place: Place,
  over: boolean,
): Promise<Ended> {
  const refusal = reasonNotToRun(state, answer, call, over)
  const { emit } = state.parts
  if (refusal !== undefined) {
    const envelope = errorEnvelope(`Tool "${call.name}" was not run: ${refusal}.`)
    emitEnd(state, call, envelope)
    return { envelope }
  }
  emit({ type: 'tool_execution_start', toolId: call.id, toolName: call.name, args: call.input })
  let ended = false
  const outcome = await state.parts.gate?.call({
    name: call.name,
    input: { text: call.input },
    origin: 'model',
    toolCallId: call.id,
    ...(call.callId !== undefined && { providerCallId: call.callId }),
    turn: state.rounds,
    signal: state.signal,
    place,
    progress: (partial) => {
      if (ended) return
      const text = serializeToolOutput(partial)
      const whole = typeof partial !== 'string' && ({ whole: true } as const)
      emit({ type: 'tool_output_delta', toolId: call.id, toolName: call.name, text, ...whole })
    },
    emitStreamEvent: (event, callId) => {
      if (!ended) emitInside(state, call, event, callId)
    },
  })
  // A tool that was left behind is not heard any more.
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
      ...pathsOf(record),
    })
  emitEnd(state, call, envelope, record)
  return { ...outcome, endedAt: record.endedAt }
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
  // A call that was cut off may still look whole: half a file is not what was meant.
  if (unfinished && call === toolCalls.at(-1))
    return finish === 'length'
      ? 'your answer reached the output limit while you wrote this call. Write less at once, in several calls'
      : 'the provider cut your answer off while you wrote this call'
  return undefined
}

/** Field by field: what works inside a tool speaks for itself alone. Without an id nobody could tell who did. */
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
    ...(typeof agentName === 'string' && { agentName }),
    event,
  })
}

function emitEnd(
  { parts }: RunState,
  call: ModelToolCall,
  envelope: Envelope,
  record?: Pick<CallRecord, 'paths'>,
): void {
  const { output, exitCode } = toToolResult(call.name, envelope)
  parts.emit({
    type: 'tool_end',
    toolId: call.id,
    toolName: call.name,
    toolOutput: output,
    exitCode,
    isError: envelope.type === 'error',
    metadata: envelope.metadata,
    ...pathsOf(record),
  })
}

function pathsOf(record: Pick<CallRecord, 'paths'> | undefined): Pick<CallRecord, 'paths'> {
  return record?.paths === undefined ? {} : { paths: record.paths }
}

async function keep(
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
        `The model wrote arguments that are no JSON ${state.malformed} times in a row (maxParseRetries is ${maxParseRetries}), so the run was stopped.`,
      ),
    }
  if (stop !== undefined) throw stop.error
}
