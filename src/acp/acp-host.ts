import type { SessionOptions } from '../session/options.js'
import type { AcpClient } from './acp-client.js'
import { AcpSession } from './acp-session.js'
import type { AcpOptions, Place } from './options.js'
import { RpcError, rpcCodes } from './rpc-error.js'

/** What the methods share: the client, the directories, and the sessions that are open here. */
export class AcpHost {
  readonly options: AcpOptions
  readonly client: AcpClient
  readonly #places = new Map<string, Promise<Place>>()
  readonly #sessions = new Map<string, AcpSession>()

  constructor(options: AcpOptions, client: AcpClient) {
    this.options = options
    this.client = client
  }

  /** The agent and the configuration of a directory. */
  place(cwd: string): Promise<Place> {
    const known = this.#places.get(cwd)
    if (known !== undefined) return known
    const opening = this.options.place(cwd)
    this.#places.set(cwd, opening)
    opening.catch(() => this.#places.delete(cwd))
    return opening
  }

  /** All directories that were used so far. */
  async places(): Promise<Place[]> {
    return Promise.all(this.#places.values())
  }

  /** The open session with this id. Throws when there is none. */
  session(id: string): AcpSession {
    const found = this.#sessions.get(id)
    if (found === undefined || found.session.isClosed)
      throw new RpcError(rpcCodes.notFound, `There is no open session ${JSON.stringify(id)}.`, {
        code: 'session_not_found',
      })
    return found
  }

  sessions(): readonly AcpSession[] {
    return [...this.#sessions.values()]
  }

  /** Opens a session. Its approvals and questions are put before the client. */
  open(place: Place, options: SessionOptions = {}): AcpSession {
    const opened = new AcpSession(this, place, options)
    this.#sessions.set(opened.id, opened)
    return opened
  }

  /** Cancels what runs in a session, and closes it here; its store has it still. */
  async close(id: string): Promise<void> {
    const found = this.#sessions.get(id)
    this.#sessions.delete(id)
    found?.cancel()
    await found?.session.close()
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.close(id)))
  }
}
