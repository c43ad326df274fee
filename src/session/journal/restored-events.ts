import type { AgentEvent } from '../../loop/events.js'
import { isTerminal } from '../../loop/events.js'
import type { RunEventRow, RunRow } from '../../store/records.js'
import type { SessionState, StoredMessage } from '../../store/session-state.js'
import type { AssistantMessage } from '../../tool/completion.js'
import { isRecord } from '../../tool/json.js'
import { reasoningText } from '../../tool/message.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { toToolResult } from '../../tool/tool-result.js'
import { agentResult } from '../agent-result.js'
import type { RunEvent } from '../run-events.js'
import { usageFrom } from '../spending.js'
import { isWhole } from './shorten.js'

/** What a log has about the runs of a session. */
export type RunsOfLog = Pick<SessionState, 'runs' | 'events' | 'messages'>

/**
 * The events of a run as its log has them, under the numbers that readers saw. Texts that the log has once, in the
 * messages, are put back: the answer of each round as one event under the number of its last piece, outputs of tools,
 * long arguments and prompts. A run that ended has its last event.
 */
export function restoredEvents(state: RunsOfLog, run: RunRow): RunEvent[] {
  const own = state.messages.filter(({ row }) => row.runId === run.id)
  const answers = own.filter(({ message }) => message.role === 'assistant').values()
  const events: RunEvent[] = []
  let hasCalls = false
  for (const row of state.events.get(run.id) ?? []) {
    // They were events when they were written.
    const event = row.event as unknown as AgentEvent
    if (event.type === 'turn_start') hasCalls = false
    if (event.type === 'tool_start') hasCalls = true
    // An answer that says nothing leaves no message.
    const isAnswer = row.texts !== undefined || (event.type === 'turn_end' && hasCalls)
    if (isAnswer) events.push(...textsOf(row, answers.next().value?.message))
    events.push({ sequence: row.sequence, timestampMs: row.timestampMs, event: completed(event, own, run) })
  }
  const last = events.at(-1)
  const end = last === undefined || isTerminal(last.event) ? undefined : endOf(run, events)
  // Texts were found with the end of their answer, after the calls in it.
  return [...events, ...(end === undefined ? [] : [end])].sort((a, b) => a.sequence - b.sequence)
}

/**
 * Above every number that a process gives: for events that are added to the stream of a run after its process ended.
 */
export const sequencesPerProcess = 1_000_000_000

/** The text and the reasoning of an answer, each under the number of its last piece. */
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

/** The event with what was not written with it. */
function completed(event: AgentEvent, own: readonly StoredMessage[], run: RunRow): AgentEvent {
  switch (event.type) {
    case 'tool_end':
      return { ...event, toolOutput: outputOf(event.toolId, event.toolName, own) ?? '' }
    case 'tool_execution_start':
      return isWhole(event.args) ? event : { ...event, args: argumentsOf(event.toolId, own) ?? event.args }
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

function outputOf(toolId: string, toolName: string, own: readonly StoredMessage[]): string | undefined {
  for (const { message, envelopes } of own) {
    if (message.role !== 'tool') continue
    const at = message.content.findIndex(({ id, callId }) => id === toolId || callId === toolId)
    const envelope = envelopes?.[at]
    if (envelope !== undefined) return toToolResult(toolName, envelope).output
    const parts = message.content[at]?.content
    if (parts !== undefined)
      return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  }
  return undefined
}

function argumentsOf(toolId: string, own: readonly StoredMessage[]): string | undefined {
  for (const { message } of own) {
    if (message.role !== 'assistant') continue
    for (const part of message.content)
      if (part.type === 'tool_call' && (part.id === toolId || part.callId === toolId))
        return serializeToolOutput(part.function.arguments)
  }
  return undefined
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

/** Arguments are written as JSON text; long ones were cut, and are no JSON then. */
function valueIn(args: unknown): unknown {
  if (typeof args !== 'string') return args
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}

/** The last event of a run whose log has its end and no event for it; undefined for a run that was cut off. */
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
