import type { VerificationSummary } from '../../loop/events.js'
import type { VerificationCommand, VerificationReport } from '../../tool/verification.js'
import { formatVerificationSummary, type GivenReport, type VerificationPreset } from '../../verify/index.js'
import { DirectTools } from '../direct-tools.js'
import { hostVerifier, verificationPart } from '../parts/verification.js'
import { coreOf } from './session-surface.js'

/** What was checked, and how it went. */
export abstract class VerificationSurface extends DirectTools {
  /**
   * Runs commands one after the other and keeps a report of how they went. They are direct calls: in the session's shell, with its
   * confinement, environment and limits. A failed command does not reject: the report says so.
   *
   * ```ts
   * const report = await session.verifyCommands('release', [{ id: 'unit', kind: 'test', command: 'npm test' }])
   * ```
   */
  async verifyCommands(
    subject: string,
    commands: readonly VerificationCommand[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<VerificationReport> {
    const core = coreOf(this)
    core.assertOpen()
    return core.part(verificationPart).verify(subject, commands, hostVerifier(core, options.signal))
  }

  /** Every report of this session so far, those from before it was resumed too. */
  verificationReports(): VerificationReport[] {
    return coreOf(this).part(verificationPart).book.list()
  }

  /** Adds what was verified elsewhere. A report may say less than its checks show, never more. */
  async recordVerificationReports(reports: GivenReport | readonly GivenReport[]): Promise<void> {
    await coreOf(this).part(verificationPart).record(reports)
  }

  /** How the session stands by its reports, the last about each subject. */
  verificationSummary(): VerificationSummary {
    return coreOf(this).part(verificationPart).book.summary()
  }

  verificationSummaryText(): string {
    return formatVerificationSummary(this.verificationSummary())
  }

  /** The checks that the workspace offers by itself: those of its package managers, languages and makefiles. */
  verificationPresets(): VerificationPreset[] {
    return coreOf(this).part(verificationPart).presets()
  }
}
