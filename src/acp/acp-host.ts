import type { SessionOptions } from '../session/options.js'
import type { AcpClient } from './acp-client.js'
import { AcpSession } from './acp-session.js'
import { HostMethods } from './extensions/host-methods.js'
import type { AcpOptions, Place } from './options.js'
import { RpcError, rpcCodes } from './rpc-error.js'

/** What the methods share: the client, the directories, and the open sessions. */
export class AcpHost {
  readonly options: AcpOptions
  readonly client: AcpClient
  /** Present if the client has the permissions of a host. */
  readonly hostMethods: HostMethods | undefined
  readonly #places = new Map<string, Promise<Place>>()
  readonly #sessions = new Map<string, AcpSession>()
  #isSignedOut = false

  constructor(options: AcpOptions, client: AcpClient) {
    this.options = options
    this.client = client
    const callClient = client.request.bind(client)
    this.hostMethods = options.host && new HostMethods({ ...options.host, callClient })
  }

  /** Returns the agent and the configuration of a directory. One without a model is read again the next time. */
  place(cwd: string): Promise<Place> {
    const known = this.#places.get(cwd)
    if (known !== undefined) return known
    const opening = this.options.place(cwd)
    this.#places.set(cwd, opening)
    const forget = (): unknown => this.#places.delete(cwd)
    opening.then(({ hasModel }) => hasModel || forget(), forget)
    return opening
  }

  /** Like `place`, for work that needs a language model: throws without one. */
  async placeWithModel(cwd: string): Promise<Place> {
    const place = await this.place(cwd)
    if (!place.hasModel) throw authRequired(noModel)
    return place
  }

  /** Returns all directories that were used so far, and that of the process. */
  async allPlaces(): Promise<Place[]> {
    await this.place(this.options.cwd)
    return Promise.all(this.#places.values())
  }

  /** Checks that a model is configured. */
  async signIn(): Promise<void> {
    await this.placeWithModel(this.options.cwd)
    this.#isSignedOut = false
  }

  /** Closes all sessions. No session can be opened before the client signs in again. */
  async signOut(): Promise<void> {
    this.#isSignedOut = true
    await this.closeAll()
  }

  assertSignedIn(): void {
    if (this.#isSignedOut) throw authRequired('You have signed out.')
  }

  /** Returns the open session with this id. Throws if there is none. */
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

  /** Opens a session. Its approvals and questions are sent to the client. */
  open(place: Place, options: SessionOptions = {}): AcpSession {
    const opened = new AcpSession(this, place, options)
    this.#sessions.set(opened.id, opened)
    return opened
  }

  /** Cancels the runs of a session and closes it here; it stays in its store. */
  async close(id: string): Promise<void> {
    const found = this.#sessions.get(id)
    this.#sessions.delete(id)
    found?.cancel()
    await found?.session.close()
  }

  /** Closes every session, also if one of them fails; throws the first error afterwards. */
  async closeAll(): Promise<void> {
    const closing = [...this.#sessions.keys()].map((id) => this.close(id))
    for (const end of await Promise.allSettled([...closing, this.hostMethods?.close()]))
      if (end.status === 'rejected') throw end.reason
  }
}

const noModel =
  'No language model is configured. Set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment of the client, start a local model server, or run "capstan init".'

function authRequired(message: string): RpcError {
  return new RpcError(rpcCodes.authRequired, message, { code: 'auth_required' })
}
