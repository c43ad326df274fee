import { messageOf } from '../tool/errors.js'
import { NetError } from '../workspace/net/errors.js'
import type { GuardedStream } from '../workspace/net/guarded-stream.js'
import { readAnswer } from './answer.js'
import { SupervisionError } from './errors.js'
import type { Ask, Peer } from './peer.js'
import { type Method, noticeText, requestText } from './protocol.js'
import { assertFits, refusal } from './stream-peer.js'
import { type HttpTransport, settingsOf, tokenOf } from './transport.js'

/** A peer that receives each message as a separate HTTP request. */
export class HttpPeer implements Peer {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #net: GuardedStream
  readonly #maxBytes: number
  readonly #timeoutMs: number
  readonly #closing = new AbortController()
  #gone: string | undefined
  #asked = 0

  private constructor(transport: HttpTransport, net: GuardedStream) {
    const { maxMessageBytes, timeoutMs } = settingsOf(transport)
    const token = tokenOf(transport)
    this.#url = transport.url
    this.#net = net
    this.#maxBytes = maxMessageBytes
    this.#timeoutMs = timeoutMs
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
  }

  /** Opens a peer that connects only to the configured host, public or private, and does not follow redirects. */
  static async open(transport: HttpTransport): Promise<HttpPeer> {
    const { createGuardedStream } = await import('../workspace/net/guarded-stream.js')
    const { protocol, hostname, port } = new URL(transport.url)
    const own = `${hostname.replace(/\.+$/, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
    const net = createGuardedStream({
      allowPrivate: [own],
      maxBytes: settingsOf(transport).maxMessageBytes,
      permitHost: (host, at) =>
        own === `${host.includes(':') ? `[${host}]` : host}:${at}` ? undefined : 'it is not the supervisor',
    })
    return new HttpPeer(transport, net)
  }

  get gone(): string | undefined {
    return this.#gone
  }

  async request(method: Method, params: unknown, ask: Ask): Promise<unknown> {
    const id = String(++this.#asked)
    const body = requestText(id, method, params)
    assertFits(body, this.#maxBytes)
    const text = await this.#post(body, ask, true)
    const answer = readAnswer(text)
    if (answer === undefined || (answer.id !== id && !('error' in answer && answer.id === null)))
      throw new SupervisionError('supervision_protocol', 'it answered another question than it was asked')
    if ('error' in answer) throw refusal(answer.error)
    return answer.result
  }

  async notify(method: Method, params: unknown): Promise<void> {
    const body = noticeText(method, params)
    assertFits(body, this.#maxBytes)
    await this.#post(body, { timeoutMs: this.#timeoutMs }, false)
  }

  async close(): Promise<void> {
    this.#gone ??= 'it was disconnected'
    this.#closing.abort()
    this.#net.close()
  }

  async #post(body: string, { timeoutMs, signal }: Ask, wantsText: boolean): Promise<string> {
    if (this.#gone !== undefined) throw new SupervisionError('supervision_unavailable', this.#gone)
    const late = AbortSignal.timeout(timeoutMs)
    const any = AbortSignal.any([late, this.#closing.signal, ...(signal === undefined ? [] : [signal])])
    let mayHaveArrived = false
    try {
      try {
        return await this.#postOnce(body, any, wantsText)
      } catch (error) {
        mayHaveArrived = !wasNeverSent(error)
        // A reused connection may have been closed meanwhile. Sending the request again is harmless.
        if (any.aborted || !wasCut(error)) throw error
        return await this.#postOnce(body, any, wantsText)
      }
    } catch (error) {
      if (signal?.aborted === true)
        throw new SupervisionError('supervision_aborted', 'the caller does not wait any longer')
      if (late.aborted)
        throw new SupervisionError('supervision_timeout', `it did not answer within ${timeoutMs} ms`)
      throw this.#explain(error, mayHaveArrived)
    }
  }

  async #postOnce(body: string, signal: AbortSignal, wantsText: boolean): Promise<string> {
    const response = await this.#net.fetch(this.#url, {
      method: 'POST',
      headers: this.#headers,
      body,
      signal,
    })
    const text = await response.text()
    const { status } = response
    if (status === 401 || status === 403)
      throw new SupervisionError('supervision_refused', `it did not accept the token (HTTP ${status})`)
    if (status < 200 || status > 299 || (wantsText && status === 204))
      throw new SupervisionError('supervision_protocol', `it answered with HTTP ${status}`)
    return text
  }

  /**
   * `supervision_unavailable` means that the question was not sent: only then can work continue without an answer. A
   * question that may have arrived counts as lost, even if a retry cannot reach the supervisor.
   */
  #explain(error: unknown, mayHaveArrived: boolean): SupervisionError {
    if (error instanceof SupervisionError) return error
    if (this.#gone !== undefined) return new SupervisionError('supervision_lost', this.#gone)
    const words = messageOf(error)
    if (error instanceof NetError && error.code === 'net_bad_response' && !wasCut(error))
      return new SupervisionError('supervision_protocol', words)
    this.#gone = words
    const code = mayHaveArrived ? 'supervision_lost' : 'supervision_unavailable'
    return new SupervisionError(code, words)
  }
}

/**
 * Whether no connection was made: the request was refused locally, the host name is unknown, or connecting failed.
 */
function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (
    error instanceof NetError &&
    ['net_refused', 'net_request_invalid', 'net_unresolved'].includes(error.code)
  )
    return true
  const cause = error.cause instanceof Error ? error.cause : error
  return 'syscall' in cause && (cause.syscall === 'connect' || cause.syscall === 'getaddrinfo')
}

/** Whether the connection ended before a complete answer. */
function wasCut(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error.cause instanceof Error ? codeIn(error.cause) : codeIn(error)
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function codeIn(error: Error): { readonly code: unknown } {
  return { code: 'code' in error ? error.code : undefined }
}
