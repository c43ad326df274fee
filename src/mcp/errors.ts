import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { McpServerFailure } from './host-types.js'

/** The kinds of {@link McpError}. */
export type McpErrorCode =
  /** The options of a server are invalid. */
  | 'mcp_config'
  /** The server cannot be reached, or did not start, or is gone. */
  | 'mcp_unavailable'
  /** The server has forgotten the connection; what was asked of it did not happen. */
  | 'mcp_expired'
  /** The server answered, and the answer cannot be used. */
  | 'mcp_protocol'
  /** The server said no. */
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

/** For the model: the outcome of a call, and that the rest of its work is not lost. */
export function unavailable(server: string, why: string): McpError {
  return new McpError('mcp_unavailable', `mcp server ${server} is unavailable: ${why}`)
}
