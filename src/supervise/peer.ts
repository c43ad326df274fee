import type { Method } from './protocol.js'

export type Ask = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined }

/** The other side of one connection. */
export interface Peer {
  /** Sends a request and returns its result. Rejects with a `SupervisionError` in all other cases. */
  request(method: Method, params: unknown, ask: Ask): Promise<unknown>
  /** Sends a message without an answer; resolves when it is handed to the transport. */
  notify(method: Method, params: unknown): Promise<void>
  /** Why the peer can no longer be asked; undefined while it can. */
  readonly gone: string | undefined
  close(): Promise<void>
}
