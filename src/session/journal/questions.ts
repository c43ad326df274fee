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
 * Returns the record of a question. Undefined for one that no later process could ask again: only calls of the last
 * answer, and calls inside them that have their own ids, are made again.
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

/** The call, and what the user sees of it: two questions are the same when all of this is equal. */
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
 * Returns the questions of earlier processes that can still be answered: those of the last answer that were not
 * refused. Includes expired questions.
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
 * Whether this is the call that the question was about. Secrets are not written to the log, so a call whose arguments
 * had a secret is a different call after a restart.
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
