import { type Client, type ConnectionOptions, openClient } from '../store/postgres/driver.js'

export type ListenerOptions = {
  readonly connection: ConnectionOptions
  readonly channel: string
  onMessage(payload: string): void
  /** Called after a period in which messages may have been missed. */
  onMissed(): void
}

/** A connection that receives notifications and is reopened when it is lost. */
export class Listener {
  readonly #options: ListenerOptions
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #connecting: Promise<void> | undefined
  #isClosed = false

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  /** Starts listening. Also resolves if the database cannot be reached: the connection is retried. */
  start(): Promise<void> {
    this.#connecting ??= this.#connect().catch(() => this.#retry())
    return this.#connecting
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#connecting
    await this.#client?.end()
  }

  async #connect(): Promise<void> {
    const { connection, channel, onMessage, onMissed } = this.#options
    const client = await openClient(connection)
    client.on('notification', ({ payload = '' }) => onMessage(payload))
    client.once('end', () => this.#retry())
    await client.query(`listen "${channel}"`)
    this.#client = client
    onMissed()
  }

  #retry(): void {
    this.#client = undefined
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#connecting = this.#connect().catch(() => this.#retry())
    }, retryAfterMs).unref()
  }
}

const retryAfterMs = 250
