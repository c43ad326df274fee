import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'

/** Returns the body of a response in plain form. */
export function decompress(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.toLowerCase() ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br)$/.test(encoding)) return message
  // Errors of the pipeline are reported by the last stream.
  return pipeline(message, encoding === 'br' ? createBrotliDecompress() : createUnzip(), () => undefined)
}
