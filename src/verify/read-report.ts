import type {
  VerificationCheck,
  VerificationEvidence,
  VerificationReport,
  VerificationStatus,
} from '../store/verification.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { VerificationError } from './errors.js'
import { readSubject } from './read-commands.js'
import { reportOf } from './report.js'

/** A report of checks that ran elsewhere. Missing fields are computed from the checks. */
export type GivenReport = Partial<Omit<VerificationReport, 'checks' | 'subject'>> & {
  readonly subject: string
  readonly checks?: readonly GivenCheck[]
}
/** A check of a report that a host provides. */
export type GivenCheck = Partial<Omit<VerificationCheck, 'id' | 'status'>> &
  Pick<VerificationCheck, 'id' | 'status'>

type Facts = Pick<VerificationReport, 'origin' | 'at_ms' | 'run_id'>

const maxReports = 1_000
const maxChecks = 1_000
const maxTextLength = 20_000
const maxReportLength = 256 * 1024
const statuses = ['passed', 'failed', 'needs_review', 'skipped'] as const

/** Reads one report or several. Each is validated and copied. */
export function readReports(given: unknown, facts: Facts): VerificationReport[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (list.length > maxReports)
    throw new VerificationError(`There are ${list.length} reports; at most ${maxReports} are taken at once.`)
  return list.map((one, at) => readReport(one, Array.isArray(given) ? `reports[${at}]` : 'The report', facts))
}

/** Reads a saved report of this package; undefined if it is invalid. */
export function restoredReport(value: unknown): VerificationReport | undefined {
  if (!isRecord(value)) return undefined
  const { origin, at_ms, run_id } = value
  try {
    return readReport(value, 'The report', {
      // A report without the host as its origin does not count as the host's.
      origin: origin === 'host' ? 'host' : 'model',
      at_ms: typeof at_ms === 'number' ? at_ms : 0,
      ...(typeof run_id === 'string' && { run_id }),
    })
  } catch (error) {
    if (error instanceof VerificationError) return undefined
    throw error
  }
}

function readReport(value: unknown, where: string, facts: Facts): VerificationReport {
  if (!isRecord(value)) throw new VerificationError(`${where} must be an object.`)
  const { subject, status, checks = [], residual_risks = [] } = value
  if (!Array.isArray(checks) || checks.length > maxChecks)
    throw new VerificationError(`${where}.checks must be a list of at most ${maxChecks} checks.`)
  const read = checks.map((one: unknown, at) => readCheck(one, `${where}.checks[${at}]`))
  const twice = read.find(({ id }, at) => read.findIndex((other) => other.id === id) < at)
  if (twice !== undefined) throw new VerificationError(`${where}: two checks have the id '${twice.id}'.`)
  const risks = textList(residual_risks, `${where}.residual_risks`)
  const made = reportOf({ subject: readSubject(subject), ...facts }, read)
  const report = {
    ...made,
    residual_risks: [...new Set([...made.residual_risks, ...risks])],
    status: status === undefined ? made.status : agreed(status, made.status, read.length, where),
  }
  if (JSON.stringify(report).length > maxReportLength)
    throw new VerificationError(
      `${where} is longer than ${maxReportLength} characters: put long outputs into files and name them in evidence_uris.`,
    )
  return report
}

/** A report can have a stricter status than its checks, never a better one. */
function agreed(
  status: unknown,
  made: VerificationStatus,
  checkCount: number,
  where: string,
): VerificationStatus {
  if (!isStatus(status))
    throw new VerificationError(`${where}.status must be one of: ${statuses.join(', ')}.`)
  if (checkCount > 0 && weight[status] < weight[made])
    throw new VerificationError(`${where}.status is '${status}', and its checks say '${made}'.`)
  return status
}

const weight: Readonly<Record<VerificationStatus, number>> = {
  passed: 0,
  skipped: 1,
  needs_review: 2,
  failed: 3,
}

function readCheck(value: unknown, where: string): VerificationCheck {
  if (!isRecord(value)) throw new VerificationError(`${where} must be an object.`)
  const { id, status, required = true, exit_code, duration_ms, outcome } = value
  if (typeof id !== 'string' || id === '') throw new VerificationError(`${where}.id must be a text.`)
  if (!isStatus(status))
    throw new VerificationError(`${where}.status must be one of: ${statuses.join(', ')}.`)
  if (typeof required !== 'boolean') throw new VerificationError(`${where}.required must be true or false.`)
  const text = (name: string): string | undefined => optionalText(value[name], `${where}.${name}`)
  const command = text('command')
  const cwd = text('cwd')
  const risk = text('residual_risk')
  const evidence = readEvidence(value['evidence'], `${where}.evidence`)
  return {
    id,
    kind: text('kind') ?? 'command',
    description: text('description') ?? id,
    status,
    required,
    ...omitUndefined({ command, cwd }),
    ...(isOutcome(outcome) && { outcome }),
    ...(typeof exit_code === 'number' && { exit_code }),
    ...(typeof duration_ms === 'number' && { duration_ms }),
    ...omitUndefined({ evidence }),
    evidence_uris: textList(value['evidence_uris'] ?? [], `${where}.evidence_uris`),
    suggested_tools: textList(value['suggested_tools'] ?? [], `${where}.suggested_tools`),
    ...omitUndefined({ residual_risk: risk }),
  }
}

function readEvidence(value: unknown, where: string): VerificationEvidence | undefined {
  if (value === undefined) return undefined
  if (!isRecord(value)) throw new VerificationError(`${where} must be an object with a head.`)
  const head = optionalText(value['head'], `${where}.head`) ?? ''
  const tail = optionalText(value['tail'], `${where}.tail`)
  const path = optionalText(value['output_path'], `${where}.output_path`)
  const { bytes } = value
  return {
    head,
    ...omitUndefined({ tail }),
    bytes: typeof bytes === 'number' ? bytes : Buffer.byteLength(head),
    ...omitUndefined({ output_path: path }),
  }
}

function isStatus(value: unknown): value is VerificationStatus {
  return statuses.some((status) => status === value)
}

function isOutcome(value: unknown): value is NonNullable<VerificationCheck['outcome']> {
  return value === 'exited' || value === 'timed_out' || value === 'cancelled' || value === 'not_run'
}

function optionalText(value: unknown, where: string): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.length <= maxTextLength) return value
  throw new VerificationError(`${where} must be a text of at most ${maxTextLength} characters.`)
}

function textList(value: unknown, where: string): string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && one.length <= maxTextLength))
    return [...(value as string[])]
  throw new VerificationError(`${where} must be a list of texts.`)
}
