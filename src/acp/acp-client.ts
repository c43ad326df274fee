import { isRecord } from '../tool/json.js'
import type { Connection } from './connection.js'
import type { SessionUpdate } from './wire.js'

/** The client on the other side of the connection: an editor, or a program. */
export class AcpClient {
  readonly #connection: () => Connection
  #capabilities: unknown = {}

  constructor(connection: () => Connection) {
    this.#connection = connection
  }

  /** Aborted when the client has disconnected. */
  get signal(): AbortSignal {
    return this.#connection().signal
  }

  /** Sets the client capabilities from `initialize`. */
  setCapabilities(capabilities: unknown): void {
    this.#capabilities = capabilities
  }

  /** Whether the client has advertised a capability, for example `elicitation`, `form`. */
  can(...path: readonly string[]): boolean {
    const found = path.reduce<unknown>(
      (value, name) => (isRecord(value) ? value[name] : undefined),
      this.#capabilities,
    )
    return isRecord(found) || found === true
  }

  /** Calls a method of the client. Aborting `signal` cancels the request in the client and rejects here at once. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#connection().request(method, params, signal)
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.#connection().notify(method, params)
  }

  /** Sends an update of a session. Returns false, without sending, if the client does not support it. */
  async update(sessionId: string, update: SessionUpdate): Promise<boolean> {
    if (update.sessionUpdate === 'notice' && !this.can('session', 'notices')) return false
    if (update.sessionUpdate === 'compaction_update' && !this.can('session', 'compaction')) return false
    await this.notify('session/update', { sessionId, update })
    return true
  }
}
