/** How a check, a report or all of them stand. */
export type VerificationStatus = 'passed' | 'failed' | 'needs_review' | 'skipped'

/** A command whose exit code is evidence. */
export type VerificationCommand = {
  readonly id: string
  /** What it shows: `test`, `lint`, `typecheck`, `build`, `command` when left out. */
  readonly kind?: string
  readonly description?: string
  readonly command: string
  /** True when left out: what is verified only holds when it passes. */
  readonly required?: boolean
  readonly timeoutMs?: number
  /** A directory inside the workspace, from its root. */
  readonly cwd?: string
}

/** What a command put out: its beginning and its end, and where the whole is. */
export type VerificationEvidence = {
  readonly head: string
  /** Absent when the head is all there was. */
  readonly tail?: string
  readonly bytes: number
  /** The file with the whole output, in the session's scratch directory. It goes away with the session. */
  readonly output_path?: string
}

/** One thing that was looked at. */
export type VerificationCheck = {
  readonly id: string
  readonly kind: string
  readonly description: string
  readonly status: VerificationStatus
  readonly required: boolean
  readonly command?: string
  readonly cwd?: string
  /** How a command ended. One that was cancelled, or could not be run, is `skipped` or `needs_review`, never `passed`. */
  readonly outcome?: 'exited' | 'timed_out' | 'cancelled' | 'not_run'
  readonly exit_code?: number
  readonly duration_ms?: number
  readonly evidence?: VerificationEvidence
  readonly evidence_uris: readonly string[]
  readonly suggested_tools: readonly string[]
  /** What stays open although it was looked at. */
  readonly residual_risk?: string
}

/** What was verified about one subject, and how it went. */
export type VerificationReport = {
  readonly schema: 'capstan.verification_report.v1'
  readonly subject: string
  readonly status: VerificationStatus
  readonly checks: readonly VerificationCheck[]
  readonly residual_risks: readonly string[]
  /** On whose behalf: the host's own word weighs more than a model's. */
  readonly origin: 'host' | 'model'
  /** The run that was at work. */
  readonly run_id?: string
  readonly at_ms: number
}
