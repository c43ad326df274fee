import type { VerificationSummary } from '../loop/events.js'
import type { VerificationReport } from '../store/verification.js'
import { standingReports, summarise } from './summary.js'

/** Reports that something else has taken the place of are given up beyond this many. */
const maxReports = 1_000

/** What was verified in a session, in order. */
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
