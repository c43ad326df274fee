import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of errors of network requests. */
export type NetErrorCode =
  /** The request itself is malformed: URL, method or headers. */
  | 'net_request_invalid'
  /** The guard refused the request: scheme, host, address or redirect. */
  | 'net_refused'
  | 'net_unresolved'
  | 'net_unreachable'
  | 'net_tls'
  | 'net_timeout'
  | 'net_aborted'
  /** The server's response cannot be used: truncated, malformed, or in an unsupported encoding. */
  | 'net_bad_response'

/** Thrown when a request was refused or failed. `net_refused` is final: the same request is refused again. */
export class NetError extends CapstanError<NetErrorCode> {}

markErrorClass(NetError, 'NetError')
