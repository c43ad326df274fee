import type { RunRequest } from '../feature/run-request.js'
import type { CheckpointRow } from '../store/records.js'
import type { UserMessage } from '../tool/completion.js'
import { type AgentResult, agentResult } from './agent-result.js'
import { ResumeError } from './errors.js'
import { featuresWith } from './features-with.js'
import { elapsedIn, familyOf, lastCheckpoint, type RestoredSession, totalsOf } from './journal/restore.js'
import type { SessionKernel } from './kernel.js'
import { startRun } from './start-run.js'

/**
 * Resumes a run whose process ended, as a new run: from the last finished round or, if it ended in its first round,
 * from its prompt. Finished work is not repeated; an interrupted call gets a result with what is known about it, and
 * the model decides. The totals of the resumed run are carried over.
 */
export async function resumeRun(
  kernel: SessionKernel,
  runId: string,
  { newRunId, onStart }: ResumeRunOptions = {},
): Promise<AgentResult> {
  kernel.assertOpen()
  if (kernel.log.recorder === undefined)
    throw new ResumeError('no_session_store', 'resume_run requires a session_store')
  const state = kernel.queue.has(runId) ? undefined : await kernel.log.recorder.state()
  const run = state?.runs.get(runId)
  if (state === undefined || run === undefined || run.status === 'completed') throw noCheckpoint(runId)
  const family = familyOf(state, runId)
  const checkpoint = lastCheckpoint(state, family)
  const start = startOf(kernel, state, family, checkpoint)
  const prompt = start === 'prompt' ? await kernel.log.recorder.promptOf(run) : undefined
  if (start === undefined || (start === 'prompt' && prompt === undefined)) throw noCheckpoint(runId)
  const totals = totalsOf(state, family, checkpoint)
  const answer = answerOf(state, family)
  const { traceparent, goal } = run
  const from = { runId, totals, family, traceparent, goal, elapsedMs: elapsedIn(state, family) }
  const started = (request: RunRequest): Promise<AgentResult> => {
    const active = startRun(kernel, { ...request, runId: newRunId })
    onStart?.(active.id)
    return active.result
  }
  // If a feature checks the work, an answer alone does not end the run.
  if (
    answer !== undefined &&
    featuresWith('checksAnswers').some((feature) => feature.checksAnswers(kernel, run))
  )
    return started({ text: run.prompt, from, unseen: answer.text })
  if (answer !== undefined) {
    await complete(kernel, answer)
    const outcome = { ...totals, text: answer.text, finish: 'stop' } as const
    return agentResult(answer.runId, outcome, kernel.service('checks')?.reports())
  }
  const text = prompt === undefined ? run.prompt : textIn(prompt)
  const message = prompt === undefined ? reminder(kernel, run.prompt) : { message: prompt }
  return started({ text, from, ...message })
}

/** Options of a run that is resumed. */
export type ResumeRunOptions = {
  /** The id of the run that continues it. Default: a new one. */
  readonly newRunId?: string
  /** Called with that id when the run can be watched. Not called for a run that already had its answer. */
  readonly onStart?: (runId: string) => void
}

/**
 * Returns where a run can be resumed: in the conversation as it is, or with its prompt, if its process ended before the
 * prompt was in the conversation. Undefined: nowhere, because its messages were rewound.
 */
function startOf(
  kernel: SessionKernel,
  state: RestoredSession,
  family: ReadonlySet<string>,
  checkpoint: CheckpointRow | undefined,
): 'conversation' | 'prompt' | undefined {
  // Rewound messages are no longer part of the conversation.
  if (checkpoint !== undefined) {
    const at = state.messages.find(({ id }) => id === checkpoint.messageId)
    return at?.hidden ? undefined : 'conversation'
  }
  // A run can also be resumed at a question to a user.
  if (kernel.log.interrupted.unfinishedRound(family) !== undefined) return 'conversation'
  const own = state.messages.filter(({ row }) => row.runId !== undefined && family.has(row.runId))
  if (own.length > 0) return own.some(({ hidden }) => !hidden) ? 'conversation' : undefined
  return 'prompt'
}

function textIn({ content: [first] }: UserMessage): string {
  return first?.type === 'text' ? first.text : ''
}

function noCheckpoint(runId: string): ResumeError {
  return new ResumeError('no_checkpoint', `no loop checkpoint found for run '${runId}'`)
}

type Answer = { readonly runId: string; readonly text: string }

/** Returns the final answer of these runs, if they had completed it. */
function answerOf({ messages }: RestoredSession, family: ReadonlySet<string>): Answer | undefined {
  const { row, message } = messages.findLast(({ hidden }) => !hidden) ?? {}
  // An interrupted answer has no usage.
  if (message?.role !== 'assistant' || row?.usage === undefined) return undefined
  const { runId } = row
  if (runId === undefined || !family.has(runId)) return undefined
  if (message.content.some(({ type }) => type === 'tool_call')) return undefined
  const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
  return { runId, text }
}

/** Records the end of a run whose process ended before it was recorded. */
async function complete(kernel: SessionKernel, { runId, text }: Answer): Promise<void> {
  const record = kernel.runs.get(runId)
  if (record === undefined || record.status === 'completed') return
  await kernel.log.recorder?.open()
  record.complete(text, kernel.now())
  await kernel.log.recorder?.run(record.snapshot())
}

/**
 * Returns a reminder of the task. A model cannot continue its own answer: if the last one was interrupted, or belongs
 * to another run, the task is repeated.
 */
function reminder({ log: { conversation } }: SessionKernel, prompt: string): Pick<RunRequest, 'message'> {
  const last = conversation.messages.at(-1)
  if (last?.role !== 'assistant' || last.content.some(({ type }) => type === 'tool_call')) return {}
  const text = `You were interrupted in this, and it is not finished. Continue it:\n${prompt}`
  return { message: { role: 'user', content: [{ type: 'text', text }] } }
}
