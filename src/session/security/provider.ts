/** Where a text is going: into the model's context, out to the host (events, results), or into the session's log. */
export type TextTarget = 'model' | 'host' | 'record'

/** Something in a text that tries to be more than data. It is reported, and decides nothing. */
export type SecurityFinding = {
  readonly kind: string
  /** Where it begins. */
  readonly at: number
  /** The words, short and with everything invisible made visible. */
  readonly excerpt: string
}

/** A provider that redacts and inspects texts of a session. */
export interface SecurityProvider {
  readonly kind: string
  /** The text without what must not go there. */
  redactOutput?(text: string, target: TextTarget): string
  /** The same for a text that comes in pieces. */
  redactStream?(): TextStream
  /** What is suspicious about a text that came from outside. */
  inspectInput?(text: string): { readonly findings: readonly SecurityFinding[] }
}

/** A text in pieces: what may be passed on now; `end` gives the rest. */
export type TextStream = {
  push(piece: string): string
  end(): string
}
