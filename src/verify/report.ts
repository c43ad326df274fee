import type { VerificationCheck, VerificationReport, VerificationStatus } from '../store/verification.js'
import { omitUndefined } from '../tool/omit-undefined.js'

const reportSchema = 'capstan.verification_report.v1'

/** Creates a report from its checks. `risks` are those that belong to no check. */
export function reportOf(
  facts: Pick<VerificationReport, 'subject' | 'origin' | 'at_ms' | 'run_id'>,
  checks: readonly VerificationCheck[],
  risks: readonly string[] = [],
): VerificationReport {
  const { subject, origin, at_ms, run_id } = facts
  return {
    schema: reportSchema,
    subject,
    status: statusOf(checks, risks),
    checks,
    residual_risks: [...checks.flatMap(riskOf), ...risks],
    origin,
    ...omitUndefined({ run_id }),
    at_ms,
  }
}

/**
 * A failed required check fails the report. A required check with an unknown result, or an optional one that did not
 * pass, requires a review.
 */
function statusOf(checks: readonly VerificationCheck[], risks: readonly string[] = []): VerificationStatus {
  if (checks.some(({ required, status }) => required && status === 'failed')) return 'failed'
  if (checks.some(isPending)) return 'needs_review'
  if (checks.some(({ status }) => status === 'failed' || status === 'needs_review')) return 'needs_review'
  if (checks.some(({ status }) => status === 'passed')) return 'passed'
  return risks.length > 0 ? 'needs_review' : 'skipped'
}

/** Whether a check is required and its result is unknown. */
export function isPending({ required, status }: VerificationCheck): boolean {
  return required && (status === 'needs_review' || status === 'skipped')
}

function riskOf({ id, status, required, residual_risk }: VerificationCheck): string[] {
  if (residual_risk !== undefined) return [`${id}: ${residual_risk}`]
  return status === 'failed' && !required ? [`${id}: It failed, and is not required.`] : []
}
