/** The state of a check, of a report, or of all reports. */
export type VerificationStatus = 'passed' | 'failed' | 'needs_review' | 'skipped'

/** A command whose exit code is evidence. */
export type VerificationCommand = {
  readonly id: string
  /** What it checks: `test`, `lint`, `typecheck`, `build`. Default: `command`. */
  readonly kind?: string
  readonly description?: string
  readonly command: string
  /** Whether the verification fails when this command fails. Default: true. */
  readonly required?: boolean
  readonly timeoutMs?: number
  /** A directory inside the workspace, relative to its root. */
  readonly cwd?: string
}

/** A command's output: the beginning, the end, and the file with all of it. */
export type VerificationEvidence = {
  readonly head: string
  /** Absent when `head` has all output. */
  readonly tail?: string
  readonly bytes: number
  /** The file with the whole output, in the session's scratch directory. It is deleted with the session. */
  readonly output_path?: string
}

/** One check of a report. */
export type VerificationCheck = {
  readonly id: string
  readonly kind: string
  readonly description: string
  readonly status: VerificationStatus
  readonly required: boolean
  readonly command?: string
  readonly cwd?: string
  /** How a command ended. One that was cancelled or could not run is `skipped` or `needs_review`, never `passed`. */
  readonly outcome?: 'exited' | 'timed_out' | 'cancelled' | 'not_run'
  readonly exit_code?: number
  readonly duration_ms?: number
  readonly evidence?: VerificationEvidence
  readonly evidence_uris: readonly string[]
  readonly suggested_tools: readonly string[]
  /** What remains unverified after the check. */
  readonly residual_risk?: string
}

/** The checks of one subject and their results. */
export type VerificationReport = {
  readonly schema: 'capstan.verification_report.v1'
  readonly subject: string
  readonly status: VerificationStatus
  readonly checks: readonly VerificationCheck[]
  readonly residual_risks: readonly string[]
  /** Who made the report: a host's report counts more than a model's. */
  readonly origin: 'host' | 'model'
  /** The run that was active. */
  readonly run_id?: string
  readonly at_ms: number
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    /**
     * Runs commands one after the other and saves a report. Each passes the gate as a call of `bash` with the caller's
     * authority. Rejects only for invalid commands; the report lists those that were denied or cancelled.
     */
    readonly verify?: (
      subject: string,
      commands: readonly (string | VerificationCommand)[],
      options?: { readonly signal?: AbortSignal; readonly watch?: CallWatch },
    ) => Promise<VerificationReport>
  }
}
