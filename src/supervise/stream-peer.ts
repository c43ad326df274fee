import { type Answer, readAnswer } from './answer.js'
import { SupervisionError } from './errors.js'
import type { Ask, Peer } from './peer.js'
import { type Method, noticeText, requestText } from './protocol.js'
import type { OpenWire, Wire } from './wire/wire.js'

/** How many consecutive messages can be unrelated to a request. */
const maxUnrequested = 1_000

type Waiting = { answered(result: unknown): void; failed(error: SupervisionError): void }

/** A peer on a persistent connection: responses are matched to requests by id, in any order. */
export class StreamPeer implements Peer {
  readonly #maxBytes: number
  readonly #waiting = new Map<string, Waiting>()
  #wire: Wire | undefined
  #gone: string | undefined
  #asked = 0
  #unasked = 0

  private constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  static async open(open: OpenWire, maxBytes: number, signal: AbortSignal): Promise<StreamPeer> {
    const peer = new StreamPeer(maxBytes)
    const events = {
      message: (text: string) => peer.#take(text),
      closed: (why: string) => peer.#end(why),
    }
    peer.#wire = await open(events, signal)
    // The connection was lost while it was being opened.
    if (peer.#gone !== undefined) await peer.#wire.close()
    return peer
  }

  get gone(): string | undefined {
    return this.#gone
  }

  request(method: Method, params: unknown, { timeoutMs, signal }: Ask): Promise<unknown> {
    const id = String(++this.#asked)
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#waiting.delete(id)
      }
      const fail = (error: SupervisionError): void => {
        settle()
        reject(error)
      }
      const onAbort = (): void =>
        fail(new SupervisionError('supervision_aborted', 'the caller does not wait any longer'))
      const timer = setTimeout(
        () => fail(new SupervisionError('supervision_timeout', `it did not answer within ${timeoutMs} ms`)),
        timeoutMs,
      )
      this.#waiting.set(id, {
        answered: (result) => {
          settle()
          resolve(result)
        },
        failed: fail,
      })
      if (signal?.aborted) return onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        this.#send(requestText(id, method, params))
      } catch (error) {
        fail(asSupervisionError(error))
      }
    })
  }

  async notify(method: Method, params: unknown): Promise<void> {
    this.#send(noticeText(method, params))
  }

  async close(): Promise<void> {
    this.#end('it was disconnected')
    await this.#wire?.close()
  }

  #send(text: string): void {
    if (this.#gone !== undefined) throw new SupervisionError('supervision_unavailable', this.#gone)
    assertFits(text, this.#maxBytes)
    this.#wire?.send(text)
  }

  #take(text: string): void {
    if (this.#gone !== undefined) return
    try {
      const answer = readAnswer(text)
      const waiting = this.#waiting.get(answer?.id ?? '')
      // The supervisor could not parse some request and cannot name it, so no caller can rely on an answer.
      if (answer?.id === null)
        throw new SupervisionError('supervision_protocol', 'it could not read what it was asked')
      if (answer === undefined || waiting === undefined) this.#countUnasked()
      else {
        this.#unasked = 0
        settleWith(waiting, answer)
      }
    } catch (error) {
      this.#fail(asSupervisionError(error))
    }
  }

  /** Late answers and greetings are harmless; a flood of them is not. */
  #countUnasked(): void {
    if (++this.#unasked > maxUnrequested)
      throw new SupervisionError('supervision_protocol', 'it sent too many messages that answer nothing')
  }

  /** Ends the connection: after an invalid message, the stream cannot be trusted. */
  #fail(error: SupervisionError): void {
    for (const waiting of [...this.#waiting.values()]) waiting.failed(error)
    this.#end(error.message)
    void this.#wire?.close()
  }

  #end(why: string): void {
    if (this.#gone !== undefined) return
    this.#gone = why
    const error = new SupervisionError(
      'supervision_lost',
      `the connection was lost before it had answered: ${why}`,
    )
    for (const waiting of [...this.#waiting.values()]) waiting.failed(error)
  }
}

function settleWith(waiting: Waiting, answer: Answer): void {
  if ('result' in answer) waiting.answered(answer.result)
  else waiting.failed(refusal(answer.error))
}

export function refusal(words: string): SupervisionError {
  return new SupervisionError('supervision_refused', `it answered with an error: ${words}`)
}

/**
 * Throws if a message is too long. Nothing is truncated, because the supervisor must see all of what it decides
 * about.
 */
export function assertFits(text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes)
    throw new SupervisionError(
      'supervision_protocol',
      `the message has ${bytes} bytes, and maxMessageBytes is ${maxBytes}`,
    )
}

export function asSupervisionError(error: unknown): SupervisionError {
  if (error instanceof SupervisionError) return error
  return new SupervisionError(
    'supervision_unavailable',
    error instanceof Error ? error.message : String(error),
  )
}
