import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { omitUndefined } from '../tool/omit-undefined.js'

/** Why the gate refused a call. Codes are stable; the sentences with them can change. */
export type RefusalCode = 'outside_grant'

/** Ends a call at a step of the gate. Thrown inside the gate only; outside there are envelopes. */
export class Stopped {
  readonly envelope: Envelope
  /** For a guard that catches it: reading arguments that cannot be copied throws inside the guard. */
  readonly message: string
  /** An error that must also end the run: an approval that no user can give, middleware that threw. */
  readonly fatal?: { readonly error: unknown } | undefined

  constructor(
    text: string,
    options: {
      readonly skipped?: boolean | undefined
      /** The handler of the tool's own approval policy refused. */
      readonly rejected?: boolean | undefined
      /** What stopped the call, for programs: `metadata.code` of the envelope. */
      readonly code?: RefusalCode | undefined
      readonly fatal?: { readonly error: unknown } | undefined
    } = {},
  ) {
    this.message = text
    this.envelope = options.skipped
      ? outputEnvelope(text, { skipped: true })
      : errorEnvelope(text, {
          ...(options.rejected && { rejected: true }),
          ...omitUndefined({ code: options.code }),
        })
    if (options.fatal !== undefined) this.fatal = options.fatal
  }
}
