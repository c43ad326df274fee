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

  /** Aborted when the client has gone. */
  get signal(): AbortSignal {
    return this.#connection().signal
  }

  /** The client's parameters of `initialize`. */
  setCapabilities(capabilities: unknown): void {
    this.#capabilities = capabilities
  }

  /** Whether the client has advertised this, for example `elicitation`, `form`. */
  can(...path: readonly string[]): boolean {
    const found = path.reduce<unknown>(
      (value, name) => (isRecord(value) ? value[name] : undefined),
      this.#capabilities,
    )
    return isRecord(found) || found === true
  }

  /** Calls a method of the client. An aborted `signal` cancels the request there, and rejects here at once. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#connection().request(method, params, signal)
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.#connection().notify(method, params)
  }

  /** Sends an update of a session. False, and nothing is sent, when the client does not understand it. */
  async update(sessionId: string, update: SessionUpdate): Promise<boolean> {
    if (update.sessionUpdate === 'notice' && !this.can('session', 'notices')) return false
    if (update.sessionUpdate === 'compaction_update' && !this.can('session', 'compaction')) return false
    await this.notify('session/update', { sessionId, update })
    return true
  }
}
