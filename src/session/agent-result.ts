import type { RunOutcome } from '../loop/run.js'
import type { Usage } from '../loop/usage.js'

export type VerificationStatus = 'passed' | 'failed' | 'needs_review' | 'skipped'

/** What a run came to. */
export type AgentResult = {
  readonly text: string
  readonly runId: string
  readonly toolCallsCount: number
  readonly rounds: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  readonly usage: Usage
  /** US dollars; absent when the model's price is not known. */
  readonly costUsd?: number
  /** Why the model stopped: `stop`, `length`, `content_filter`, a stop condition. */
  readonly finish: RunOutcome['finish'] | 'command'
  readonly verificationStatus: VerificationStatus
  readonly pendingVerificationCount: number
  readonly failedVerificationCount: number
  readonly verificationReportCount: number
  readonly verificationSummaryJson: string
  readonly verificationSummaryText: string
}

/** Nothing was verified in the run. */
const noVerification = {
  verificationStatus: 'skipped',
  pendingVerificationCount: 0,
  failedVerificationCount: 0,
  verificationReportCount: 0,
  verificationSummaryJson: JSON.stringify({
    status: 'skipped',
    report_count: 0,
    required_check_count: 0,
    pending_required_check_count: 0,
    failed_check_count: 0,
    residual_risk_count: 0,
    pending_subjects: [],
    failed_subjects: [],
  }),
  verificationSummaryText: 'Verification skipped: no reports.',
} as const

export function agentResult(
  runId: string,
  outcome: Pick<RunOutcome, 'text' | 'toolCallsCount' | 'rounds' | 'usage' | 'costUsd'> & {
    readonly finish: AgentResult['finish']
  },
): AgentResult {
  const { text, toolCallsCount, rounds, usage, costUsd, finish } = outcome
  return {
    text,
    runId,
    toolCallsCount,
    rounds,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    totalTokens: usage.totalTokens,
    usage,
    ...(costUsd !== undefined && { costUsd }),
    finish,
    ...noVerification,
  }
}
