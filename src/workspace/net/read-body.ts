import type { IncomingMessage } from 'node:http'
import { finished, type Readable, type Transform } from 'node:stream'
import { NetError } from './errors.js'

export type Body = { readonly bytes: Uint8Array; readonly truncated: boolean }

const emptyBody: Body = { bytes: new Uint8Array(0), truncated: false }

// Compressed bytes past this over the cap cannot be an honest answer: they decode to nothing (empty gzip members, for
// one).
const wireSlack = 65_536

/**
 * Reads and decodes a body up to `maxBytes` decoded bytes, then hangs up. The cap is counted after decompression, piece
 * by piece, so a compression bomb costs no more memory than an honest page.
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
  // Several layers as well: no honest server stacks them, and each layer multiplies what a small answer can cost.
  throw new NetError(
    'net_bad_response',
    `The answer is encoded as ${JSON.stringify(name)}, which is not read.`,
  )
}

// "deflate" means zlib by the standard, and bare deflate by some servers; the first byte distinguishes them.
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
