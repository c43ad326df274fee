import type { Envelope } from '../../tool/envelope.js'
import type { JsonValue } from '../../tool/json.js'
import type { CallWatch, Invocation } from '../../tool/session-services.js'

/** A request for the text of a file. */
export type TextRequest = {
  readonly file_path: string
  readonly offset?: number
  readonly limit?: number
  /** The number of bytes that are needed, from the start. */
  readonly max_bytes?: number
}
/** A request for the paths that match a pattern. */
export type PathsRequest = { readonly pattern: string; readonly path?: string }

/** A request to run commands as a verification. */
export type VerifyRequest = { readonly subject: string; readonly commands: readonly JsonValue[] }

/** The options of one call that a program makes. */
export type CallOptions = {
  readonly signal: AbortSignal
  /** Identifies the call within the program: equal for the same call when the program runs again. */
  readonly id: string
  readonly watch: CallWatch
}

/**
 * The functions that a program can use. Each passes the gate with the authority of the program's caller, stops with
 * the signal, and returns an envelope; none rejects for a call that failed.
 */
export interface ProgramHost {
  call(invocation: Invocation, options: CallOptions): Promise<Envelope>
  /** Reads a file's text, or some of its lines, judged like the tool `read`. Absent: from the output of `read`. */
  readText?(request: TextRequest, options: CallOptions): Promise<Envelope>
  /** Returns the matching paths as an array, judged like the tool `glob`. Absent: derived from the output of `glob`. */
  globPaths?(request: PathsRequest, options: CallOptions): Promise<Envelope>
  /** Runs commands and reports their results. Absent: programs cannot do that. */
  verify?(request: VerifyRequest, options: CallOptions): Promise<Envelope>
}
