import { formatRule } from '../authority/rule.js'
import type { PendingConfirmation } from '../session/confirmations.js'
import { diffOf } from '../session/history/dry-run.js'
import { previewEdits } from '../session/history/preview-edits.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import { CapstanError } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import {
  answer,
  json,
  listOf,
  listResponse,
  type Route,
  ref,
  type SessionContext,
  sessionRoute,
  text,
} from './route.js'
import type { ServerCore } from './server-core.js'
import { optionalText } from './session-routes.js'
import { unreadableFor } from './unreadable-files.js'

const tag = 'approvals'

/** Approvals and questions that wait for a user. */
export const approvalRoutes: readonly Route[] = [
  sessionRoute('GET', '/approvals', 'listApprovals', {
    summary: 'List the calls that wait for an approval.',
    tag,
    responses: listResponse('The approvals.', 'approvals', 'Approval'),
    handle: async ({ session }) => {
      const pending = session.pendingConfirmations()
      return json(200, { approvals: await Promise.all(pending.map((one) => shownApproval(one, session))) })
    },
  }),
  sessionRoute('POST', '/approvals/{callId}', 'answerApproval', {
    summary: 'Approve or reject a call, once.',
    tag,
    body: objectSchema({
      decision: text({ enum: ['once', 'session', 'always', 'reject'] }),
      'message?': text({ maxLength: 4_000 }),
    }),
    responses: answer('The decision was accepted.', ref('Decision')),
    problems: ['approval_not_found', 'already_answered', 'session_locked'],
    async handle({ core, principal, session, params, body }) {
      const callId = params['callId'] ?? ''
      const decision = decisionOf(body['decision'])
      const message = optionalText(body['message'])
      const runId = await answerApproval(core, principal, session, callId, decision, message)
      return json(200, { callId, decision, runId })
    },
  }),
  sessionRoute('GET', '/questions', 'listQuestions', {
    summary: 'List the questions of the model that wait for answers.',
    tag,
    responses: listResponse('The questions.', 'questions', 'Question'),
    handle: async ({ core, principal, session }) =>
      json(200, { questions: await core.pending.questions(principal, session) }),
  }),
  sessionRoute('POST', '/questions/{questionId}', 'answerQuestion', {
    summary: 'Answer a question, once: one list of answers for each of its questions.',
    tag,
    body: objectSchema({ answers: { type: 'array', items: listOf(text()) } }),
    responses: answer('The answers were accepted.', objectSchema({ questionId: text(), 'runId?': text() })),
    problems: [
      'question_not_found',
      'already_answered',
      'session_locked',
      'run_not_resumable',
      'server_stopping',
    ],
    handle: answerQuestion,
  }),
]

async function answerQuestion({ core, principal, session, params, body }: SessionContext): Promise<Response> {
  const questionId = params['questionId'] ?? ''
  const answers = Array.isArray(body['answers'])
    ? body['answers'].map((one) => (Array.isArray(one) ? one.map(String) : []))
    : []
  const runId = await core.pending.answerQuestion(principal, session, questionId, { answers })
  return json(200, { questionId, runId })
}

export type Decision = 'once' | 'session' | 'always' | 'reject'

/**
 * Answers an approval. If the process that asked has ended and this is the last answer that the run waits for, the run
 * is resumed, and the run that continues it is returned.
 */
export async function answerApproval(
  core: ServerCore,
  principal: Principal,
  session: Session,
  callId: string,
  decision: Decision,
  message?: string | undefined,
): Promise<string | undefined> {
  if (core.queued !== undefined) {
    if (!(await core.queued.answer(principal, session, callId, decision, message)))
      return refuseAnswer(core, session, callId)
    core.pending.rememberAnswer(session.sessionId, callId, decision)
    return undefined
  }
  const pending = session.pendingConfirmations().find(({ toolId }) => toolId === callId)
  // Only the process that waits for the answer can accept it.
  if (pending?.fromBefore === true) await core.refuseElsewhere(session)
  const isTaken =
    pending !== undefined &&
    (await session.confirmToolUse(
      callId,
      decision !== 'reject',
      message,
      decision === 'reject' ? undefined : decision,
      principal.id,
    ))
  if (!isTaken) return refuseAnswer(core, session, callId)
  core.pending.rememberAnswer(session.sessionId, callId, decision)
  if (pending.fromBefore !== true) return undefined
  if (session.pendingConfirmations().some(({ fromBefore }) => fromBefore === true)) return undefined
  const cut = (await session.runs()).findLast(({ status }) => status === 'interrupted')
  const resumed = cut === undefined ? undefined : await core.resumeIfPossible(session, cut)
  return resumed !== undefined && 'runId' in resumed ? resumed.runId : undefined
}

/** Throws an error that explains why an answer is not accepted: no such call asks, or it is already answered. */
async function refuseAnswer(core: ServerCore, session: Session, callId: string): Promise<never> {
  const given = core.pending.answerTo(session.sessionId, callId)
  const wasAsked = given !== undefined || (await core.pending.wasAsked(session, callId))
  if (!wasAsked) throw new ProblemError('approval_not_found')
  throw new ProblemError('already_answered', undefined, {
    fields: given === undefined ? {} : { decision: given },
  })
}

/** Waits for an answer to be given. If it was already given, this is not an error: a request can be sent again. */
export async function unlessAnswered(answering: Promise<unknown>): Promise<void> {
  try {
    await answering
  } catch (error) {
    const isAnswered =
      (error instanceof ProblemError || error instanceof CapstanError) && error.code === 'already_answered'
    if (!isAnswered) throw error
  }
}

function decisionOf(given: unknown): Decision {
  if (given === 'once' || given === 'session' || given === 'always') return given
  return 'reject'
}

async function shownApproval(
  pending: PendingConfirmation,
  session: Session,
): Promise<Record<string, unknown>> {
  const { toolId, toolName, args, reasons, request, digest, remainingMs, fromBefore } = pending
  return {
    callId: toolId,
    toolName,
    args,
    reasons,
    rules: request.suggestion?.map(formatRule) ?? [],
    notes: request.notes,
    diff: request.diff ?? (await previewOf(toolName, args, session)),
    digest,
    remainingMs,
    fromBefore,
  }
}

/**
 * Returns the file changes that a call would make, as a user of the terminal also sees them. A file that rules deny is
 * not shown.
 */
async function previewOf(toolName: string, args: unknown, session: Session): Promise<string | undefined> {
  const { workspace } = await kernelOf(session).engine.open()
  const preview = await previewEdits(toolName, args, workspace.files)
  if (preview === undefined || 'whyNot' in preview) return undefined
  const isUnreadable = await unreadableFor(session)
  for (const { path } of preview.edits) if (await isUnreadable(path)) return undefined
  return (await Promise.all(preview.edits.map(diffOf))).join('\n')
}
