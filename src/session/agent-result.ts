import type { RunSummary, VerificationSummary } from '../loop/events.js'
import type { RunOutcome } from '../loop/run.js'

export type { VerificationStatus, VerificationSummary } from '../loop/events.js'

/** What a run came to. */
export type AgentResult = RunSummary

/** Nothing was verified in the run. */
const nothingVerified: VerificationSummary = {
  status: 'skipped',
  report_count: 0,
  required_check_count: 0,
  pending_required_check_count: 0,
  failed_check_count: 0,
  residual_risk_count: 0,
  pending_subjects: [],
  failed_subjects: [],
}
const noVerification = {
  verificationStatus: 'skipped',
  pendingVerificationCount: 0,
  failedVerificationCount: 0,
  verificationReportCount: 0,
  verificationSummary: nothingVerified,
  verificationSummaryJson: JSON.stringify(nothingVerified),
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
