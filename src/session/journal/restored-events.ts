import type { AgentEvent } from '../../loop/events.js'
import { isTerminal } from '../../loop/events.js'
import type { RunEventRow, RunRow } from '../../store/records.js'
import type { SessionState, StoredMessage } from '../../store/session-state.js'
import type { AssistantMessage, ToolResultPart } from '../../tool/completion.js'
import type { Envelope } from '../../tool/envelope.js'
import { tryOr } from '../../tool/errors.js'
import { isRecord, type JsonValue } from '../../tool/json.js'
import { reasoningText } from '../../tool/message.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { toToolResult } from '../../tool/tool-result.js'
import { agentResult } from '../agent-result.js'
import type { RunEvent } from '../run-events.js'
import { usageFrom } from '../spending.js'
import { isWhole } from './shorten.js'

/** The parts of a log about the runs of a session. */
export type RunsOfLog = Pick<SessionState, 'runs' | 'events' | 'messages'>

/**
 * Returns the events of a run from its log, with the sequence numbers that readers saw. Texts that the log has only in
 * the messages are added again: the answer of each round as one event with the number of its last piece, outputs of
 * tools, long arguments and prompts. A run that ended has its last event.
 */
export function restoredEvents(state: RunsOfLog, run: RunRow): RunEvent[] {
  const own = state.messages.filter(({ row }) => row.runId === run.id)
  const texts = callTexts(own)
  const answers = own.filter(({ message }) => message.role === 'assistant').values()
  const events: RunEvent[] = []
  let hasCalls = false
  for (const row of state.events.get(run.id) ?? []) {
    // The value was an event when it was written.
    const event = row.event as unknown as AgentEvent
    if (event.type === 'turn_start') hasCalls = false
    if (event.type === 'tool_start') hasCalls = true
    // An empty answer leaves no message.
    const isAnswer = row.texts !== undefined || (event.type === 'turn_end' && hasCalls)
    if (isAnswer) events.push(...textsOf(row, answers.next().value?.message))
    events.push({
      sequence: row.sequence,
      timestampMs: row.timestampMs,
      event: completed(event, { own, texts, run }),
    })
  }
  const last = events.at(-1)
  const end = last === undefined || isTerminal(last.event) ? undefined : endOf(run, events)
  // The events of texts were added at the end of their answer, after the calls in it.
  return [...events, ...(end === undefined ? [] : [end])].sort((a, b) => a.sequence - b.sequence)
}

/**
 * More than any sequence number of one process: for events that are added to the stream of a run after its process
 * ended.
 */
export const sequencesPerProcess = 1_000_000_000

/** Returns the text and the reasoning of an answer, each with the number of its last piece. */
function textsOf(
  { texts, timestampMs }: RunEventRow,
  message: StoredMessage['message'] | undefined,
): RunEvent[] {
  if (texts === undefined || message?.role !== 'assistant') return []
  const whole = ['reasoning', 'text'] as const
  return whole
    .flatMap((kind): RunEvent[] => {
      const sequence = texts[kind]
      const text = kind === 'text' ? textOf(message) : reasoningOf(message)
      if (sequence === undefined || text === '') return []
      return [{ sequence, timestampMs, event: { type: `${kind}_delta`, text, whole: true } }]
    })
    .toSorted((a, b) => a.sequence - b.sequence)
}

function textOf({ content }: AssistantMessage): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}

function reasoningOf({ content }: AssistantMessage): string {
  return content.flatMap((part) => (part.type === 'reasoning' ? [reasoningText(part)] : [])).join('')
}

type Source = { readonly own: readonly StoredMessage[]; readonly texts: CallTexts; readonly run: RunRow }

/** Returns the event with the texts that were not written with it. */
function completed(event: AgentEvent, { own, texts, run }: Source): AgentEvent {
  switch (event.type) {
    case 'tool_end':
      return { ...event, toolOutput: outputOf(event.toolId, event.toolName, texts) ?? '' }
    case 'tool_execution_start':
      return isWhole(event.args) ? event : { ...event, args: texts.args(event.toolId) ?? event.args }
    case 'confirmation_required':
      return { ...event, args: valueIn(event.args) }
    case 'agent_start':
      return isWhole(event.prompt) ? event : { ...event, prompt: promptIn(own) ?? event.prompt }
    case 'agent_end': {
      const text = run.resultText ?? ''
      return { ...event, result: { ...event.result, text: isWhole(text) ? text : (lastText(own) ?? text) } }
    }
    default:
      return event
  }
}

/** The texts of each call in the messages of a run. */
type CallTexts = {
  result(toolId: string): CallResult | undefined
  args(toolId: string): string | undefined
}
type CallResult = { readonly part: ToolResultPart; readonly envelope: Envelope | undefined }

/** Indexes all calls in one pass: a run can have thousands, and a search for each would read all messages each time. */
function callTexts(own: readonly StoredMessage[]): CallTexts {
  const results = new Map<string, CallResult>()
  const calls = new Map<string, JsonValue>()
  const add = <Value>(to: Map<string, Value>, part: { id: string; callId?: string }, value: Value): void => {
    for (const id of [part.id, part.callId]) if (id !== undefined && !to.has(id)) to.set(id, value)
  }
  for (const { message, envelopes } of own) {
    if (message.role === 'tool')
      for (const [at, part] of message.content.entries())
        add(results, part, { part, envelope: envelopes?.[at] })
    if (message.role === 'assistant')
      for (const part of message.content)
        if (part.type === 'tool_call') add(calls, part, part.function.arguments)
  }
  return {
    result: (toolId) => results.get(toolId),
    args: (toolId) => (calls.has(toolId) ? serializeToolOutput(calls.get(toolId)) : undefined),
  }
}

function outputOf(toolId: string, toolName: string, texts: CallTexts): string | undefined {
  const { part, envelope } = texts.result(toolId) ?? {}
  if (envelope !== undefined) return toToolResult(toolName, envelope).output
  return part?.content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('')
}

function promptIn(own: readonly StoredMessage[]): string | undefined {
  const first = own.find(({ message }) => message.role === 'user')?.message
  const part = first?.role === 'user' ? first.content[0] : undefined
  return part?.type === 'text' ? part.text : undefined
}

function lastText(own: readonly StoredMessage[]): string | undefined {
  const last = own.findLast(({ message }) => message.role === 'assistant')?.message
  return last?.role === 'assistant' ? textOf(last) : undefined
}

/** Parses arguments, which are written as JSON text; long ones were cut off and are not valid JSON. */
function valueIn(args: unknown): unknown {
  if (typeof args !== 'string') return args
  return tryOr(() => JSON.parse(args), args)
}

/** Returns the last event of a run whose log has its end but no event for it; undefined for an interrupted run. */
function endOf(run: RunRow, events: readonly RunEvent[]): RunEvent | undefined {
  const { id: runId, status, updatedAtMs: timestampMs, resultText: text = '', error = '' } = run
  const place = { sequence: sequencesPerProcess, timestampMs }
  const costUsd = typeof run.costUsd === 'number' ? { costUsd: run.costUsd } : {}
  const usage = usageFrom(isRecord(run.usage) ? run.usage : {})
  const count = (type: AgentEvent['type']): number => events.filter(({ event }) => event.type === type).length
  switch (status) {
    case 'completed': {
      const outcome = {
        text,
        toolCallsCount: count('tool_end'),
        rounds: count('turn_end'),
        usage,
        ...costUsd,
      }
      return {
        ...place,
        event: { type: 'agent_end', runId, result: agentResult(runId, { ...outcome, finish: 'stop' }) },
      }
    }
    case 'failed':
      return { ...place, event: { type: 'error', error, usage, ...costUsd } }
    case 'cancelled':
      return { ...place, event: { type: 'agent_cancelled', reason: error, usage, ...costUsd } }
    default:
      return undefined
  }
}
