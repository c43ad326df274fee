import type { Method } from './protocol.js'

export type Ask = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined }

/** The other end of one connection. */
export interface Peer {
  /** What it answers. Rejects with a `SupervisionError` for everything else. */
  request(method: Method, params: unknown, ask: Ask): Promise<unknown>
  /** Sends without an answer; resolves when it is on its way. */
  notify(method: Method, params: unknown): Promise<void>
  /** Why it cannot be asked any more; undefined as long as it can. */
  readonly gone: string | undefined
  close(): Promise<void>
}
