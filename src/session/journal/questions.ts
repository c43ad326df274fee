import { createHash } from 'node:crypto'
import { formatRule } from '../../authority/rule.js'
import type { AskRequest } from '../../loop/ask.js'
import type { ToolQuestion } from '../../store/records.js'
import type { OpenQuestion } from '../../store/session-state.js'
import type { AssistantContent, Message } from '../../tool/completion.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import type { RecordedConversation } from './recorded-conversation.js'
import type { RestoredSession } from './restore.js'
import { shorten } from './shorten.js'

type ToolCallPart = Extract<AssistantContent, { type: 'tool_call' }>

/**
 * A question as it is written down. Undefined for one that no later process could put again: only calls of the last
 * answer, and calls inside them that have ids of their own, come back.
 */
export function questionFrom(
  request: AskRequest,
  answer: Message | undefined,
  times: { readonly askedAtMs: number; readonly expiresAtMs?: number },
): ToolQuestion | undefined {
  const { toolCallId, run } = request
  const call = toolCallId === undefined ? undefined : outerCall(answer, toolCallId)
  if (toolCallId === undefined || call === undefined) return undefined
  return {
    type: 'tool_question',
    callId: toolCallId,
    ...shownOf(request),
    written: writtenDigest(call),
    ...omitUndefined({ runId: run?.runId }),
    ...times,
  }
}

/** What a user is shown of a call, and the call itself: two questions are the same when all of this is. */
export function shownOf(
  request: AskRequest,
): Pick<ToolQuestion, 'toolName' | 'args' | 'reasons' | 'notes' | 'key' | 'policy'> {
  const { toolName, args, reasons, notes, key, rules } = request
  return {
    toolName,
    args: shorten(serializeToolOutput(args)),
    reasons: shorten(reasons),
    notes: shorten(notes),
    key,
    policy: digest(JSON.stringify([reasons, notes, rules.map(formatRule)])),
  }
}

/**
 * The questions from before that can be answered still: of the last answer, and not refused. Those that are over are
 * among them.
 */
export function waitingQuestions(
  { openQuestions }: Pick<RestoredSession, 'openQuestions'>,
  { kept }: Pick<RecordedConversation, 'kept'>,
): readonly ToolQuestion[] {
  const last = kept.at(-1)
  return openQuestions
    .filter(({ messageId, refused, question }: OpenQuestion) => {
      if (refused !== undefined || messageId !== last?.id) return false
      const call = outerCall(last.message, question.callId)
      return call !== undefined && isAboutCall(question, call)
    })
    .map(({ question }) => question)
}

/**
 * Whether the call is still what was asked about: secrets are not written down, and a log without them has another
 * call.
 */
export function isAboutCall(question: ToolQuestion, call: ToolCallPart): boolean {
  return question.written === writtenDigest(call)
}

export function isExpired({ expiresAtMs }: Pick<ToolQuestion, 'expiresAtMs'>, now: number): boolean {
  return expiresAtMs !== undefined && now >= expiresAtMs
}

function outerCall(answer: Message | undefined, callId: string): ToolCallPart | undefined {
  if (answer?.role !== 'assistant') return undefined
  return answer.content.find(
    (part): part is ToolCallPart =>
      part.type === 'tool_call' && (callId === part.id || callId.startsWith(`${part.id}/`)),
  )
}

function writtenDigest({ function: { name, arguments: args } }: ToolCallPart): string {
  return digest(JSON.stringify([name, serializeToolOutput(args)]))
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
