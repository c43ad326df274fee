import { CapstanError, markErrorClass } from '../tool/errors.js'
import { type AgentResult, agentResult } from './agent-result.js'
import type { SessionCore } from './core.js'
import { totalsOfRun } from './journal/restore.js'
import { startRun } from './start-run.js'

/** A run cannot be gone on with; the code says whether it may be later. */
export class ResumeError extends CapstanError {
  constructor(code: 'no_session_store' | 'no_checkpoint', message: string) {
    super(code, message)
  }
}

markErrorClass(ResumeError, 'ResumeError')

/**
 * Goes on with a run whose process ended: as a new run, from the last round that was finished. What that run did is not done again;
 * a call that was cut off is answered with what is known of it, and the model decides.
 */
export async function resumeRun(core: SessionCore, runId: string): Promise<AgentResult> {
  core.assertOpen()
  if (core.parts.options.sessionStore === undefined)
    throw new ResumeError('no_session_store', 'resume_run requires a session_store')
  const { restored } = core.parts
  const checkpoint = restored?.checkpoints.get(runId)
  const run = restored?.runs.get(runId)
  if (restored === undefined || checkpoint === undefined || run?.status === 'completed')
    throw new ResumeError('no_checkpoint', `no loop checkpoint found for run '${runId}'`)
  const totals = totalsOfRun(restored, runId)
  const last = core.conversation.messages.at(-1)
  // It had given its answer, and only its end was not written down any more.
  if (last?.role === 'assistant' && last.content.every(({ type }) => type !== 'tool_call')) {
    const text = last.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
    return agentResult(runId, { ...totals, text, finish: 'stop' })
  }
  return startRun(core, { text: run?.prompt ?? '', from: { runId, totals } }).result
}
