import type { VerificationSummary } from '../loop/events.js'
import type { VerificationReport, VerificationStatus } from '../store/verification.js'
import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { VerificationError } from './errors.js'
import { isPending } from './report.js'

/**
 * Summarizes reports. All of them are counted; the status comes from the last report of each subject, so that a
 * failure that was fixed later does not count.
 */
export function summarise(reports: readonly VerificationReport[]): VerificationSummary {
  const standing = standingReports(reports)
  const checks = standing.flatMap((report) => report.checks)
  return {
    status: statusOfAll(standing),
    report_count: reports.length,
    required_check_count: checks.filter(({ required }) => required).length,
    pending_required_check_count: checks.filter(isPending).length,
    failed_check_count: checks.filter(({ status }) => status === 'failed').length,
    residual_risk_count: standing.reduce((sum, { residual_risks }) => sum + residual_risks.length, 0),
    pending_subjects: subjectsOf(standing, 'needs_review'),
    failed_subjects: subjectsOf(standing, 'failed'),
  }
}

/** Returns the last report of each subject. A report of the model does not replace one of the host. */
export function standingReports(reports: readonly VerificationReport[]): VerificationReport[] {
  const bySubject = new Map<string, VerificationReport>()
  for (const report of reports) {
    if (report.origin === 'host') bySubject.delete(keyOf('model', report))
    const key = keyOf(report.origin, report)
    // Deleted first, so that the order is that of the latest reports.
    bySubject.delete(key)
    bySubject.set(key, report)
  }
  return [...bySubject.values()]
}

function keyOf(origin: VerificationReport['origin'], { subject }: VerificationReport): string {
  return `${origin} ${subject}`
}

function statusOfAll(reports: readonly VerificationReport[]): VerificationStatus {
  for (const status of ['failed', 'needs_review', 'passed'] as const)
    if (reports.some((report) => report.status === status)) return status
  return 'skipped'
}

function subjectsOf(reports: readonly VerificationReport[], wanted: VerificationStatus): string[] {
  return [...new Set(reports.filter(({ status }) => status === wanted).map(({ subject }) => subject))]
}

/** Formats a summary, or the JSON text of one, as a sentence. */
export function formatVerificationSummary(given: VerificationSummary | string): string {
  const summary = readSummary(given)
  const { residual_risk_count } = summary
  const risks = residual_risk_count === 0 ? '' : ` Residual risks: ${residual_risk_count}.`
  return `${sentence(summary)}${risks}`
}

function sentence(summary: VerificationSummary): string {
  const { status, report_count, required_check_count, pending_subjects, failed_subjects } = summary
  if (status === 'passed')
    return `Verification passed: ${counted(report_count, 'report')}, ${counted(required_check_count, 'required check')}.`
  if (status === 'failed')
    return `Verification failed: ${counted(summary.failed_check_count, 'failed check')}${across(failed_subjects)}.`
  if (status === 'needs_review')
    return `Verification needs review: ${openChecks(summary)}${across(pending_subjects)}.`
  return `Verification skipped: ${report_count === 0 ? 'no reports' : `${counted(report_count, 'report')}, nothing was checked`}.`
}

function openChecks({
  pending_required_check_count: pending,
  failed_check_count: failed,
}: VerificationSummary) {
  const words = [
    ...(pending > 0 ? [counted(pending, 'pending required check')] : []),
    ...(failed > 0 ? [counted(failed, 'failed optional check')] : []),
  ]
  return words.length === 0 ? 'something stays open' : words.join(', ')
}

function across(subjects: readonly string[]): string {
  return subjects.length === 0 ? '' : ` across subjects: ${subjects.join(', ')}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function readSummary(given: unknown): VerificationSummary {
  const value = typeof given === 'string' ? parsed(given) : given
  if (!isRecord(value)) throw invalid('it is not an object')
  const { status } = value
  if (!['passed', 'failed', 'needs_review', 'skipped'].some((known) => known === status))
    throw invalid('its status is none of passed, failed, needs_review, skipped')
  for (const name of counts)
    if (!Number.isInteger(value[name]) || Number(value[name]) < 0) throw invalid(`${name} is not a count`)
  for (const name of lists) {
    const list = value[name]
    if (!Array.isArray(list) || list.some((one) => typeof one !== 'string'))
      throw invalid(`${name} is not a list of texts`)
  }
  // Every field was checked above.
  return value as unknown as VerificationSummary
}

const counts = [
  'report_count',
  'required_check_count',
  'pending_required_check_count',
  'failed_check_count',
  'residual_risk_count',
] as const
const lists = ['pending_subjects', 'failed_subjects'] as const

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(messageOf(error))
  }
}

function invalid(why: string): VerificationError {
  return new VerificationError(`Invalid verification summary: ${why}.`)
}
