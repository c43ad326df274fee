// What a host sees of servers, and nothing of what they are made of.
import type { StreamLike } from '../tool/stream-like.js'

/** Where the host stores what servers gave it to sign in with. A key names one server at one address. */
export interface McpTokenStore {
  load(key: string): string | undefined | Promise<string | undefined>
  save(key: string, value: string): void | Promise<void>
  remove(key: string): void | Promise<void>
}

/** How users sign in to MCP servers, and where their tokens are saved. */
export type McpSignIn = {
  readonly store: McpTokenStore
  /**
   * Leads a person to this address, which the server chose, and returns the address that signing in led to. Absent:
   * who is not signed in already cannot. It is http or https and nothing else; open it without a shell.
   */
  readonly authorize?: (request: { readonly server: string; readonly url: string }) => Promise<string>
}

/** How a server is at the moment. */
export type McpServerStatus = {
  readonly name: string
  readonly connected: boolean
  readonly toolCount: number
  /** `idle`: not connected and not needed; the next call connects it. `down`: it failed, and is tried again later. */
  readonly state: 'idle' | 'connecting' | 'connected' | 'down' | 'disabled'
  /** Whether its program runs in a sandbox; false for a server elsewhere. */
  readonly confined: boolean
  /** Why it is down, with what is known of it, as one sentence. */
  readonly error?: string
  /** The same as data. */
  readonly failure?: McpServerFailure
  /** It is down because a user has to sign in first. */
  readonly needsSignIn?: boolean
  /** What it offered and does not have a place here, and why. */
  readonly problems?: readonly string[]
  /** What confines its program while it runs: the name of the sandbox, or `none`. */
  readonly sandbox?: string
}

/** Details of a server that did not start. Nothing in it has a secret of the server's entry. */
export type McpServerFailure = {
  readonly command?: string
  /** Of a server that is reached over HTTP. */
  readonly address?: string
  readonly exitCode?: number | null
  readonly signal?: string
  /** The first and the last lines that the program wrote to standard error. */
  readonly stderr?: readonly string[]
  /** What the sandbox kept from a program that is confined. */
  readonly withheld?: string
}

/** A request of a server to a model. Every word of it comes from the server. */
export type McpSamplingRequest = {
  readonly server: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly systemPrompt?: string
  readonly maxTokens?: number
}

/** The host's answer: the text of a model, or a refusal. Asking, paying and approving are the host's. */
export type McpSamplingHandler = (
  request: McpSamplingRequest,
) => Promise<{ readonly model: string; readonly text: string } | undefined>

/** The `.mcp.json` of a workspace. It came with the workspace: it has no effect until the user confirms its content. */
export type McpFile = {
  readonly path: string
  readonly confirmed: boolean
  /** What the user confirms: this text in this directory, and no other (SEC-144, SEC-145). */
  readonly confirmation: string
  /** What it would start or reach, for the user who decides. */
  readonly servers: readonly McpFileServer[]
  readonly problems: readonly string[]
}

/** A server of a `.mcp.json`. */
export type McpFileServer = {
  readonly name: string
  /** `stdio`: a program is started; `http`: an address is reached. */
  readonly by: 'stdio' | 'http'
  readonly runs: string
  /** The variables of the program, as the file writes them. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether its program runs in a sandbox; false for a server elsewhere. */
  readonly confined: boolean
  /** What the sandbox keeps from it, where it is confined. */
  readonly withheld?: string
}

/** Where another agent listens: lines of JSON over two streams, such as `process.stdin` and `process.stdout`. */
export type McpServeTransport = { readonly input: StreamLike; readonly output: StreamLike }

/** A session's tools that are being served to an MCP client. */
export type McpServing = {
  /** Settles when the other side has gone, or `close` was called. */
  readonly ended: Promise<void>
  close(): Promise<void>
}
