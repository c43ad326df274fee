// The types that a host sees of MCP servers, without implementation details.
import type { StreamLike } from '../tool/stream-like.js'

/** Stores the tokens that MCP servers issued at sign-in. A key names one server at one address. */
export interface McpTokenStore {
  load(key: string): string | undefined | Promise<string | undefined>
  save(key: string, value: string): void | Promise<void>
  remove(key: string): void | Promise<void>
}

/** How users sign in to MCP servers, and where their tokens are saved. */
export type McpSignIn = {
  readonly store: McpTokenStore
  /**
   * Sends the user to this address, which the server chose, and returns the address that the sign-in redirected to.
   * Absent: only users who are already signed in can use the server. The address is http or https; open it without a
   * shell.
   */
  readonly authorize?: (request: { readonly server: string; readonly url: string }) => Promise<string>
}

/** The current state of an MCP server. */
export type McpServerStatus = {
  readonly name: string
  readonly connected: boolean
  readonly toolCount: number
  /** `idle`: not connected; the next call connects it. `down`: it failed, and is tried again later. */
  readonly state: 'idle' | 'connecting' | 'connected' | 'down' | 'disabled'
  /** Whether its program runs in a sandbox; false for a remote server. */
  readonly confined: boolean
  /** Why it is down, as one sentence. */
  readonly error?: string
  /** Why it is down, as data. */
  readonly failure?: McpServerFailure
  /** Whether it is down because a user has to sign in first. */
  readonly needsSignIn?: boolean
  /** What it offered and the session rejected, and why. */
  readonly problems?: readonly string[]
  /** The name of the sandbox that confines its program, or `none`. */
  readonly sandbox?: string
}

/** Details of a server that did not start. They contain no secret of the server's entry. */
export type McpServerFailure = {
  readonly command?: string
  /** The address of a server over HTTP. */
  readonly address?: string
  readonly exitCode?: number | null
  readonly signal?: string
  /** The first and the last lines that the program wrote to standard error. */
  readonly stderr?: readonly string[]
  /** What the sandbox withheld from a confined program. */
  readonly withheld?: string
}

/** A request of an MCP server to a model. All of its text comes from the server. */
export type McpSamplingRequest = {
  readonly server: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly systemPrompt?: string
  readonly maxTokens?: number
}

/**
 * Answers a sampling request of a server: with the text of a model, or a refusal. The host decides about approval and
 * cost.
 */
export type McpSamplingHandler = (
  request: McpSamplingRequest,
) => Promise<{ readonly model: string; readonly text: string } | undefined>

/** The `.mcp.json` of a workspace. It came with the workspace: it has no effect until the user confirms its content. */
export type McpFile = {
  readonly path: string
  readonly confirmed: boolean
  /** What the user confirms: exactly this text in this directory (SEC-144, SEC-145). */
  readonly confirmation: string
  /** What it would start or connect to, for the user who decides. */
  readonly servers: readonly McpFileServer[]
  readonly problems: readonly string[]
}

/** A server of a `.mcp.json`. */
export type McpFileServer = {
  readonly name: string
  /** `stdio`: starts a program; `http`: connects to an address. */
  readonly by: 'stdio' | 'http'
  readonly runs: string
  /** The variables of the program, as the file writes them. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether its program runs in a sandbox; false for a remote server. */
  readonly confined: boolean
  /** What the sandbox withholds from it, if it is confined. */
  readonly withheld?: string
}

/** The streams to another agent: lines of JSON, such as over `process.stdin` and `process.stdout`. */
export type McpServeTransport = { readonly input: StreamLike; readonly output: StreamLike }

/** A session's tools that are being served to an MCP client. */
export type McpServing = {
  /** Settles when the client has disconnected, or `close` was called. */
  readonly ended: Promise<void>
  close(): Promise<void>
}
