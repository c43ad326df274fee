import { isRecord } from '../../tool/json.js'

/** The requests of the other side that are not answered yet. */
export class Unanswered {
  readonly #ids = new Set<unknown>()

  get count(): number {
    return this.#ids.size
  }

  received(message: unknown): void {
    if (!isRecord(message) || typeof message['method'] !== 'string') return
    if ('id' in message) this.#ids.add(message['id'])
    // A cancelled request gets no answer.
    const { params } = message
    if (message['method'] === 'notifications/cancelled' && isRecord(params))
      this.#ids.delete(params['requestId'])
  }

  sent(message: unknown): void {
    if (isRecord(message) && 'id' in message && !('method' in message)) this.#ids.delete(message['id'])
  }
}
