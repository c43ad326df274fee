import type { AgentEvent, RunSummary } from '../../loop/events.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import { exitCodeFor } from '../failure.js'
import type { RefusedCall } from './refused-asks.js'

/** What a run of the command came to: the last line of `stream-json`, and all of `json`. */
export type RunReport = {
  readonly type: 'result'
  readonly outcome: 'done' | 'incomplete' | 'limit' | 'cancelled' | 'failed'
  readonly exitCode: ExitCode
  readonly sessionId: string
  readonly runId?: string
  readonly model: string
  /** The answer; empty when there was none. */
  readonly text: string
  readonly finish?: RunSummary['finish']
  readonly rounds?: number
  readonly toolCalls?: number
  readonly usage?: RunSummary['usage']
  readonly costUsd?: number
  readonly verification?: { readonly status: string; readonly failed: number; readonly pending: number }
  /** Calls that were refused because no user could be asked, with the rules that would have allowed them. */
  readonly refused: readonly RefusedCall[]
  readonly error?: { readonly code: string; readonly message: string }
  readonly warnings: readonly string[]
  readonly durationMs: number
}

export type RunFacts = {
  readonly last: AgentEvent | undefined
  readonly sessionId: string
  readonly model: string
  readonly refused: readonly RefusedCall[]
  readonly warnings: readonly string[]
  readonly durationMs: number
  /** The signal that ended it, if one did. */
  readonly stoppedBy?: string | undefined
}

export function runReport(facts: RunFacts): RunReport {
  const { last, stoppedBy, ...rest } = facts
  const common = { type: 'result', ...rest } as const
  if (last?.type === 'agent_end') return endedReport(common, last.result)
  if (last?.type === 'agent_cancelled') {
    const exitCode =
      stoppedBy === 'SIGTERM' || stoppedBy === 'SIGHUP' ? exitCodes.terminated : exitCodes.cancelled
    return {
      ...common,
      outcome: 'cancelled',
      exitCode,
      text: '',
      error: { code: 'cancelled', message: last.reason },
      ...spentIn(last),
    }
  }
  const error =
    last?.type === 'error'
      ? { code: last.code ?? 'run_failed', message: last.error }
      : { code: 'run_failed', message: 'The run ended without saying how.' }
  const exitCode = exitCodeFor(error.code)
  return {
    ...common,
    outcome: exitCode === exitCodes.limit ? 'limit' : 'failed',
    exitCode,
    text: '',
    error,
    ...(last?.type === 'error' && spentIn(last)),
  }
}

function spentIn({
  usage,
  costUsd,
}: Pick<RunReport, 'usage' | 'costUsd'>): Pick<RunReport, 'usage' | 'costUsd'> {
  return { ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) }
}

function endedReport(
  common: Omit<RunReport, 'outcome' | 'exitCode' | 'text' | 'error'>,
  result: RunSummary,
): RunReport {
  const { text, runId, finish, rounds, toolCallsCount, usage, costUsd } = result
  const isWhole = finish === 'stop' || finish === 'command' || finish === 'stop_condition'
  const isVerified = result.failedVerificationCount === 0 && result.pendingVerificationCount === 0
  const isDone = isWhole && isVerified && common.refused.length === 0
  return {
    ...common,
    outcome: isDone ? 'done' : 'incomplete',
    exitCode: isDone ? exitCodes.done : exitCodes.incomplete,
    runId,
    text,
    finish,
    rounds,
    toolCalls: toolCallsCount,
    usage,
    ...(costUsd !== undefined && { costUsd }),
    ...(result.verificationReportCount > 0 && {
      verification: {
        status: result.verificationStatus,
        failed: result.failedVerificationCount,
        pending: result.pendingVerificationCount,
      },
    }),
  }
}
