/** The target of a text: the model's context, the host (events, results), or the session's log. */
export type TextTarget = 'model' | 'host' | 'record'

/** A part of a text that looks like instructions. It is reported, and has no effect on permissions. */
export type SecurityFinding = {
  readonly kind: string
  /** The position where it starts. */
  readonly at: number
  /** A short excerpt, with invisible characters made visible. */
  readonly excerpt: string
}

/** A provider that redacts and inspects texts of a session. */
export interface SecurityProvider {
  readonly kind: string
  /** Returns the text without what must not reach this target. */
  redactOutput?(text: string, target: TextTarget): string
  /** Redacts a text that arrives in pieces. */
  redactStream?(): TextStream
  /** Returns suspicious parts of a text that came from outside. */
  inspectInput?(text: string): { readonly findings: readonly SecurityFinding[] }
}

/** Redacts a text in pieces: each call returns what can be passed on now, and `end` returns the rest. */
export type TextStream = {
  push(piece: string): string
  end(): string
}
