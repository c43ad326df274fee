import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'

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
      readonly fatal?: { readonly error: unknown }
    } = {},
  ) {
    this.envelope = options.skipped
      ? outputEnvelope(text, { skipped: true })
      : errorEnvelope(text, options.rejected ? { rejected: true } : {})
    if (options.fatal !== undefined) this.fatal = options.fatal
  }
}
