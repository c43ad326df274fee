import { crc32 } from 'node:zlib'

/** One message of an event stream of Amazon Web Services. */
export type StreamMessage = {
  readonly headers: Readonly<Record<string, string>>
  readonly payload: string
}

/** Splits bytes into messages. Throws for bytes that are not such a stream, and for messages above the limit. */
export class StreamMessages {
  readonly #maxBytes: number
  #rest: Buffer = Buffer.alloc(0)

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns the messages that are complete with these bytes. */
  feed(bytes: Uint8Array): StreamMessage[] {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const messages: StreamMessage[] = []
    while (this.#rest.length >= preludeBytes) {
      const length = this.#rest.readUInt32BE(0)
      if (crc32(this.#rest.subarray(0, 8)) !== this.#rest.readUInt32BE(8)) throw new StreamFormatError()
      if (length > this.#maxBytes || length < preludeBytes + 4) throw new StreamFormatError(length)
      if (this.#rest.length < length) break
      messages.push(messageIn(this.#rest.subarray(0, length)))
      this.#rest = this.#rest.subarray(length)
    }
    return messages
  }
}

/** The bytes are not an event stream, or a message is too long. */
export class StreamFormatError extends Error {
  /** The length that a message claims to have. */
  readonly length: number | undefined

  constructor(length?: number) {
    super('not an event stream')
    this.length = length
  }
}

const preludeBytes = 12

function messageIn(bytes: Buffer): StreamMessage {
  const end = bytes.length - 4
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) throw new StreamFormatError()
  const headersEnd = preludeBytes + bytes.readUInt32BE(4)
  if (headersEnd > end) throw new StreamFormatError()
  return {
    headers: checkedHeaders(bytes.subarray(preludeBytes, headersEnd)),
    payload: bytes.toString('utf8', headersEnd, end),
  }
}

function checkedHeaders(bytes: Buffer): Record<string, string> {
  try {
    return headersIn(bytes)
  } catch (error) {
    // A length field points outside of the message.
    if (error instanceof RangeError) throw new StreamFormatError()
    throw error
  }
}

/** Parses headers. Only strings are returned; values of other types are skipped. */
function headersIn(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {}
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes.readUInt8(nameEnd)
    at = nameEnd + 1
    const fixed = fixedBytes[type]
    const size = fixed ?? bytes.readUInt16BE(at)
    if (fixed === undefined) at += 2
    if (type === textType) headers[name] = bytes.toString('utf8', at, at + size)
    at += size
  }
  return headers
}

const textType = 7
/**
 * The sizes of values by type: two booleans, numbers, a timestamp and a UUID. Byte arrays and strings contain their
 * size.
 */
const fixedBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
