import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'

/** Returns the decompressed body of a response. */
export function decompress(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.toLowerCase() ?? ''
  if (!/^(?:x-)?(?:gzip|deflate|br)$/.test(encoding)) return message
  // The last stream reports errors of the pipeline.
  return pipeline(message, encoding === 'br' ? createBrotliDecompress() : createUnzip(), () => undefined)
}
