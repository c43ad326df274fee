import { crc32 } from 'node:zlib'

/** A message as Bedrock frames it: prelude, headers, payload, each with a checksum. */
export function framed(headers: Readonly<Record<string, string>>, payload: object | string): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => {
    const head = Buffer.alloc(name.length + 4)
    head.writeUInt8(name.length, 0)
    head.write(name, 1)
    head.writeUInt8(7, name.length + 1)
    head.writeUInt16BE(Buffer.byteLength(value), name.length + 2)
    return Buffer.concat([head, Buffer.from(value)])
  })
  const [head, body] = [
    Buffer.concat(fields),
    Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
  ]
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + head.length + body.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, head, body])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(message), 0)
  return Buffer.concat([message, sum])
}
/** One event of a streamed answer. */
export const event = (type: string, payload: object): Buffer =>
  framed({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, payload)
/** An error inside a streamed answer. */
export const exception = (type: string, message: string): Buffer =>
  framed({ ':exception-type': type, ':message-type': 'exception' }, { message })
