import type { Envelope } from '../../tool/envelope.js'
import type { JsonValue } from '../../tool/json.js'
import type { CallWatch, Invocation } from '../../tool/runtime.js'

export type TextRequest = {
  readonly file_path: string
  readonly offset?: number
  readonly limit?: number
  /** No more than its first bytes are wanted. */
  readonly max_bytes?: number
}
export type PathsRequest = { readonly pattern: string; readonly path?: string }

export type VerifyRequest = { readonly subject: string; readonly commands: readonly JsonValue[] }

export type CallOptions = {
  readonly signal: AbortSignal
  /** Names the call within the program: the same for the same call of a program that is run again. */
  readonly id: string
  readonly watch: CallWatch
}

/**
 * What a program works through. Every function walks the gate with the authority of whoever runs the program, stops with the signal,
 * and answers with an envelope; none rejects for a call that failed.
 */
export interface ProgramHost {
  call(invocation: Invocation, options: CallOptions): Promise<Envelope>
  /** The text of a file as it is, or some of its lines, judged as the tool `read`. Absent: made from what `read` gives. */
  readText?(request: TextRequest, options: CallOptions): Promise<Envelope>
  /** The paths that match, as an array, judged as the tool `glob`. Absent: made from what `glob` gives. */
  globPaths?(request: PathsRequest, options: CallOptions): Promise<Envelope>
  /** Runs commands and reports on them. Absent: programs cannot. */
  verify?(request: VerifyRequest, options: CallOptions): Promise<Envelope>
}
