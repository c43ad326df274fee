/** The position of a call in an OpenTelemetry trace. */
export interface RuntimeTrace {
  /** The span of the call in W3C format, for protocols that carry it. */
  readonly traceparent: string
  /** Returns the headers for a request to this URL: only hosts that the session's options name get a `traceparent`. */
  headersFor(url: string): Readonly<Record<string, string>> | undefined
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    /** The position of the call in its trace. Absent: the session is not traced. */
    readonly trace?: RuntimeTrace | undefined
  }
}
