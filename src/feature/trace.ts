/** The place of a call in a trace of OpenTelemetry. */
export interface RuntimeTrace {
  /** The span of the call in the W3C form, for a protocol that carries it. */
  readonly traceparent: string
  /** The headers for a request to this URL: only hosts that the host of the session named get a `traceparent`. */
  headersFor(url: string): Readonly<Record<string, string>> | undefined
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    /** Where the call is in its trace. Absent: the session is not traced. */
    readonly trace?: RuntimeTrace | undefined
  }
}
