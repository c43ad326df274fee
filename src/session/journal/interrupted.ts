import type { UnfinishedRound } from '../../loop/run-parts.js'
import { envelopesOf, toolMessage } from '../../loop/tool-message.js'
import type { OpenIntent, OpenQuestion } from '../../store/session-state.js'
import type { AssistantContent, Message, ToolMessage } from '../../tool/completion.js'
import { type Envelope, errorEnvelope } from '../../tool/envelope.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { isAboutCall, isExpired } from './questions.js'

/** The records of a log about calls without a result. */
export type OpenCalls = {
  readonly openIntents: readonly OpenIntent[]
  readonly openQuestions?: readonly OpenQuestion[]
  /** The results of calls that had ended when the session was suspended. */
  readonly openOutcomes?: ReadonlyMap<string, Envelope>
}

/**
 * Returns results for the calls of the last answer whose results a terminated process did not write. Undefined when
 * there are no such calls. A call that had begun may have had any effect; a call that had not begun had none.
 */
export function interruptedResults(
  messages: readonly Message[],
  open: OpenCalls,
  now = 0,
): { readonly message: ToolMessage; readonly envelopes: readonly Envelope[] } | undefined {
  const calls = callsOf(messages.at(-1))
  if (calls.length === 0) return undefined
  const known = whatIsKnown(open, now)
  const answered = calls.map((call) => ({
    id: call.id,
    name: call.function.name,
    ...omitUndefined({ callId: call.callId }),
    envelope: known(call),
  }))
  return { message: toolMessage(answered), ...envelopesOf(answered) }
}

export type UnfinishedOptions = {
  /** The run that is resumed, with all runs that it resumed. */
  readonly family: ReadonlySet<string>
  readonly now: number
  /** Whether a call that had begun can be made again, because its steps are recorded. */
  readonly canResume?: (toolName: string, callId: string) => boolean
}

/**
 * Returns the last answer, if one of its calls waited for an approval that may still come. Such a call never began, so
 * it is made now with the same id, and the user is asked again. Undefined when there is none; then every call gets a
 * result with what is known about it.
 */
export function unfinishedRound(
  messages: readonly Message[],
  open: OpenCalls & { readonly openQuestions: readonly OpenQuestion[] },
  { family, now, canResume = () => false }: UnfinishedOptions,
): UnfinishedRound | undefined {
  const last = messages.at(-1)
  const calls = callsOf(last)
  const begun = new Set(open.openIntents.map(({ intent }) => intent.callId))
  const waits = (call: ToolCallPart): boolean =>
    open.openQuestions.some(
      ({ question, refused }) =>
        question.callId === call.id &&
        refused === undefined &&
        question.runId !== undefined &&
        family.has(question.runId) &&
        !isExpired(question, now) &&
        isAboutCall(question, call),
    )
  const again = calls.filter((call) =>
    begun.has(call.id) ? canResume(call.function.name, call.id) : waits(call),
  )
  if (again.length === 0) return undefined
  const known = whatIsKnown(open, now)
  return {
    answer: {
      text: textIn(last),
      finish: 'tool_calls',
      toolCalls: calls.map(({ id, callId, function: { name, arguments: args } }) => ({
        id,
        name,
        input: serializeToolOutput(args),
        ...omitUndefined({ callId }),
      })),
    },
    settled: new Map(calls.filter((call) => !again.includes(call)).map((call) => [call.id, known(call)])),
  }
}

type ToolCallPart = Extract<AssistantContent, { type: 'tool_call' }>

function callsOf(message: Message | undefined): ToolCallPart[] {
  if (message?.role !== 'assistant') return []
  return message.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
}

function textIn(message: Message | undefined): string {
  if (message?.role !== 'assistant') return ''
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}

function whatIsKnown(
  { openIntents, openQuestions = [], openOutcomes }: OpenCalls,
  now: number,
): (call: ToolCallPart) => Envelope {
  const begun = new Map(openIntents.map(({ intent }) => [intent.callId, intent]))
  const asked = new Map(openQuestions.map((one) => [one.question.callId, one]))
  return ({ id, callId }) => {
    const outcome = openOutcomes?.get(id)
    if (outcome !== undefined) return outcome
    const intent = begun.get(id) ?? (callId === undefined ? undefined : begun.get(callId))
    if (intent !== undefined) return errorEnvelope(intent.idempotent ? mayRepeat : unknown)
    const one = asked.get(id)
    if (one === undefined) return errorEnvelope(neverBegan)
    if (one.refused !== undefined) return errorEnvelope(`This call was not run: ${one.refused}`)
    return errorEnvelope(isExpired(one.question, now) ? neverApproved : stillWaited)
  }
}

const unknown =
  'interrupted, outcome unknown: the process ended while this call ran. Check what it did before you repeat it.'
const mayRepeat =
  'interrupted, outcome unknown: the process ended while this call ran. It can be made again safely.'
const neverBegan = 'This call was not started: the process ended before. Make it again if it is still needed.'
const stillWaited =
  'This call was not started: the process ended while it waited for an approval. Make it again if it is still needed.'
const neverApproved = 'This call was not started: it was not approved in time.'
