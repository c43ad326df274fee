import type { VerificationSummary } from '../loop/events.js'
import type { VerificationReport } from '../store/verification.js'
import { standingReports, summarise } from './summary.js'

/** The maximum number of reports. Above it, the oldest ones that a later report replaces are removed. */
const maxReports = 1_000

/** The verification reports of a session, in order. */
export class ReportList {
  #reports: VerificationReport[] = []

  add(...reports: readonly VerificationReport[]): void {
    this.#reports.push(...reports)
    if (this.#reports.length <= maxReports) return
    const standing = new Set(standingReports(this.#reports))
    let over = this.#reports.length - maxReports
    this.#reports = this.#reports.filter((report) => standing.has(report) || over-- <= 0)
  }

  list(): VerificationReport[] {
    return [...this.#reports]
  }

  summary(): VerificationSummary {
    return summarise(this.#reports)
  }
}
