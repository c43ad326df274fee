import type { AgentEvent, RunSummary } from '../../loop/events.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import { exitCodeFor } from '../failure.js'
import type { RefusedCall } from './refused-asks.js'

/** The result of a run: the last line of `stream-json`, and the whole output of `json`. */
export type RunReport = {
  readonly type: 'result'
  readonly outcome: 'done' | 'incomplete' | 'limit' | 'cancelled' | 'failed'
  readonly exitCode: ExitCode
  readonly sessionId: string
  readonly runId?: string | undefined
  readonly model: string
  /** The answer; empty when there is none. */
  readonly text: string
  readonly finish?: RunSummary['finish'] | undefined
  readonly rounds?: number | undefined
  readonly toolCalls?: number | undefined
  readonly usage?: RunSummary['usage'] | undefined
  readonly costUsd?: number | undefined
  /** The fallback model that gave the last answer; absent when `model` gave it. */
  readonly fallbackModel?: string | undefined
  readonly circuitsOpened?: readonly string[] | undefined
  /** How the goal ended; absent without --goal. */
  readonly goal?: RunSummary['goal']
  readonly verification?:
    | { readonly status: string; readonly failed: number; readonly pending: number }
    | undefined
  /** Calls that were rejected because no user could be asked, with the rules that would have allowed them. */
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
  /** The signal that ended the run. */
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
      usage: last.usage,
      costUsd: last.costUsd,
    }
  }
  const error =
    last?.type === 'error'
      ? { code: last.code ?? 'run_failed', message: last.error }
      : { code: 'run_failed', message: 'The run ended without a result.' }
  const exitCode = exitCodeFor(error.code)
  return {
    ...common,
    outcome: exitCode === exitCodes.limit ? 'limit' : 'failed',
    exitCode,
    text: '',
    error,
    usage: last?.type === 'error' ? last.usage : undefined,
    costUsd: last?.type === 'error' ? last.costUsd : undefined,
  }
}

function endedReport(
  common: Omit<RunReport, 'outcome' | 'exitCode' | 'text' | 'error'>,
  result: RunSummary,
): RunReport {
  const { text, runId, finish, rounds, toolCallsCount, usage, costUsd } = result
  const isWhole = finish === 'stop' || finish === 'command' || finish === 'stop_condition'
  const isVerified = result.failedVerificationCount === 0 && result.pendingVerificationCount === 0
  const isDone = isWhole && isVerified && result.goal?.met !== false && common.refused.length === 0
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
    costUsd,
    fallbackModel: result.fallbackModel,
    circuitsOpened: result.circuitsOpened,
    goal: result.goal,
    verification:
      result.verificationReportCount > 0
        ? {
            status: result.verificationStatus,
            failed: result.failedVerificationCount,
            pending: result.pendingVerificationCount,
          }
        : undefined,
  }
}
