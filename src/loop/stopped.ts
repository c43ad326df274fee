import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'

/** Why the gate refused a call. Codes do not change; the sentences next to them may. */
export type RefusalCode = 'outside_grant'

/** Ends a call at a step of the gate. Thrown inside the gate only; outside there are envelopes. */
export class Stopped {
  readonly envelope: Envelope
  /** What must also end the run: an approval that nobody can give, middleware that threw. */
  readonly fatal?: { readonly error: unknown }

  constructor(
    text: string,
    options: {
      readonly skipped?: boolean
      /** The tool's own approval policy was told no. */
      readonly rejected?: boolean
      /** What stopped the call, for programs: `metadata.code` of the envelope. */
      readonly code?: RefusalCode | undefined
      readonly fatal?: { readonly error: unknown }
    } = {},
  ) {
    this.envelope = options.skipped
      ? outputEnvelope(text, { skipped: true })
      : errorEnvelope(text, {
          ...(options.rejected && { rejected: true }),
          ...(options.code !== undefined && { code: options.code }),
        })
    if (options.fatal !== undefined) this.fatal = options.fatal
  }
}
