import type { RunSummary } from '../loop/events.js'
import type { RunOutcome } from '../loop/run.js'
import type { VerificationReport } from '../store/verification.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { formatVerificationSummary, summarise } from '../verify/summary.js'

/** The result of a run. */
export type AgentResult = RunSummary

type Verified = Pick<
  AgentResult,
  | 'verificationStatus'
  | 'pendingVerificationCount'
  | 'failedVerificationCount'
  | 'verificationReportCount'
  | 'verificationSummary'
  | 'verificationSummaryJson'
  | 'verificationSummaryText'
>

/** Creates the result of a run. `reports`: the verification reports of the session up to its end. */
export function agentResult(
  runId: string,
  outcome: Pick<RunOutcome, 'text' | 'toolCallsCount' | 'rounds' | 'usage' | 'costUsd' | 'fallbackModel'> & {
    readonly finish: AgentResult['finish']
    readonly goal?: AgentResult['goal']
    readonly circuitsOpened?: ReadonlySet<string>
  },
  reports: readonly VerificationReport[] = [],
): AgentResult {
  const { text, toolCallsCount, rounds, usage, costUsd, fallbackModel, finish, goal, circuitsOpened } =
    outcome
  return {
    text,
    runId,
    toolCallsCount,
    rounds,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    totalTokens: usage.totalTokens,
    usage,
    ...omitUndefined({ costUsd, fallbackModel }),
    ...(circuitsOpened !== undefined && circuitsOpened.size > 0 && { circuitsOpened: [...circuitsOpened] }),
    finish,
    ...omitUndefined({ goal }),
    ...(reports.length === 0 ? nothingVerified : verified(reports)),
  }
}

function verified(reports: readonly VerificationReport[]): Verified {
  const summary = summarise(reports)
  return {
    verificationStatus: summary.status,
    pendingVerificationCount: summary.pending_required_check_count,
    failedVerificationCount: summary.failed_check_count,
    verificationReportCount: summary.report_count,
    verificationSummary: summary,
    verificationSummaryJson: JSON.stringify(summary),
    verificationSummaryText: formatVerificationSummary(summary),
  }
}

/** The value for most runs, created once and shared. */
const nothingVerified = verified([])
