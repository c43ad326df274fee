import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { McpServerFailure } from './host-types.js'

/** The kinds of {@link McpError}. */
export type McpErrorCode =
  /** The options of a server are invalid. */
  | 'mcp_config'
  /** The server cannot be reached, did not start, or has disconnected. */
  | 'mcp_unavailable'
  /** The server no longer knows the connection; the request was not executed. */
  | 'mcp_expired'
  /** The answer of the server cannot be used. */
  | 'mcp_protocol'
  /** The server refused the request. */
  | 'mcp_refused'
  | 'mcp_timeout'
  | 'mcp_aborted'
  /** The server requires a user to sign in. */
  | 'mcp_unauthorized'

/** Thrown for errors of MCP servers. No message contains a secret of the configuration. */
export class McpError extends CapstanError<McpErrorCode> {
  /** Details of a server that did not start. */
  readonly failure?: McpServerFailure

  constructor(
    code: McpErrorCode,
    message: string,
    options?: { cause?: unknown; failure?: McpServerFailure },
  ) {
    super(code, message, options)
    if (options?.failure !== undefined) this.failure = options.failure
  }
}

markErrorClass(McpError, 'McpError')

/** Creates the error that the model reads: the call failed, and its other work is not lost. */
export function unavailable(server: string, why: string): McpError {
  return new McpError('mcp_unavailable', `mcp server ${server} is unavailable: ${why}`)
}
