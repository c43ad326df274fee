import type { IncomingMessage } from 'node:http'
import { finished, type Readable, type Transform } from 'node:stream'
import { NetError } from './errors.js'

export type Body = { readonly bytes: Uint8Array; readonly truncated: boolean }

const emptyBody: Body = { bytes: new Uint8Array(0), truncated: false }

// More compressed bytes than the limit plus this cannot be a normal response: they decode to nothing (for example empty
// gzip members).
const wireSlack = 65_536

/**
 * Reads and decodes a body up to `maxBytes` decoded bytes, then closes the connection. Bytes are counted after
 * decompression, chunk by chunk, so a compression bomb needs no more memory than a normal page.
 */
export async function readBody(response: IncomingMessage, method: string, maxBytes: number): Promise<Body> {
  if (method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304) return emptyBody
  const decoder = await decoderFor(response)
  return new Promise<Body>((resolve, reject) => {
    const pieces: Uint8Array[] = []
    let kept = 0
    let wire = 0
    const source: Readable = decoder === undefined ? response : response.pipe(decoder)
    const settle = (truncated: boolean) => {
      response.destroy()
      decoder?.destroy()
      resolve({ bytes: Buffer.concat(pieces), truncated })
    }
    const fail = (cause: unknown) => {
      response.destroy()
      decoder?.destroy()
      reject(cause)
    }
    response.on('error', fail)
    if (decoder !== undefined) {
      response.on('data', (piece: Buffer) => {
        wire += piece.length
        if (wire > maxBytes + wireSlack) settle(true)
      })
    }
    source.on('data', (piece: Buffer) => {
      const room = maxBytes - kept
      pieces.push(piece.length > room ? piece.subarray(0, room) : piece)
      kept += Math.min(piece.length, room)
      if (piece.length > room) settle(true)
    })
    finished(source, { writable: false }, (cause) => {
      if (cause === undefined || cause === null) settle(false)
      else fail(cause)
    })
  })
}

async function decoderFor(response: IncomingMessage): Promise<Transform | undefined> {
  const name = response.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return undefined
  const zlib = await import('node:zlib')
  if (name === 'gzip' || name === 'x-gzip') return zlib.createGunzip()
  if (name === 'br') return zlib.createBrotliDecompress()
  if (name === 'deflate')
    return (await hasZlibHead(response)) ? zlib.createInflate() : zlib.createInflateRaw()
  // Several layers are refused too: normal servers use one, and each layer multiplies the cost of a small response.
  throw new NetError(
    'net_bad_response',
    `The answer is encoded as ${JSON.stringify(name)}, which is not read.`,
  )
}

// "deflate" is zlib in the standard, but raw deflate on some servers; the first byte distinguishes them.
async function hasZlibHead(response: IncomingMessage): Promise<boolean> {
  await new Promise<void>((resolve) => {
    response.once('readable', resolve)
    finished(response, () => resolve())
  })
  const first: unknown = response.read(1)
  if (!(first instanceof Uint8Array)) return true
  response.unshift(first)
  return ((first[0] ?? 0) & 0x0f) === 8
}
