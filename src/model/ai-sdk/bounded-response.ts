import { answerTooLarge, defaultAnswerLimits, maxEventChars, maxRefusalBytes } from '../answer-limits.js'

/**
 * Limits the body of a response, after decompression, because the providers' libraries read bodies and lines of any
 * length. Of an error only the beginning is passed on.
 */
export function boundedResponse(name: string, response: Response): Response {
  if (response.body === null) return response
  const { status, statusText, headers } = response
  const bound = response.ok ? answerBound(name) : refusalBound()
  const bounded = new Response(response.body.pipeThrough(bound), { status, statusText, headers })
  // The body is already decompressed, so these headers no longer match it.
  bounded.headers.delete('content-encoding')
  bounded.headers.delete('content-length')
  // The libraries use the URL in their errors.
  Object.defineProperty(bounded, 'url', { value: response.url })
  return bounded
}

const blankLines = ['\n\n', '\r\n\r\n', '\r\r']

function answerBound(name: string): TransformStream<Uint8Array, Uint8Array> {
  const { maxResponseBytes } = defaultAnswerLimits
  let bytes = 0
  /** The bytes since the last blank line. Events end there, and the libraries buffer an event until it ends. */
  let event = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      const bytesOf = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const end = Math.max(...blankLines.map((blank) => bytesOf.lastIndexOf(blank)))
      event = end < 0 ? event + chunk.length : chunk.length - end
      if (bytes > maxResponseBytes)
        throw answerTooLarge(name, `a response of more than ${maxResponseBytes} bytes`, undefined, false)
      if (event > maxEventChars)
        throw answerTooLarge(name, `more than ${maxEventChars} bytes in one piece`, undefined, false)
      controller.enqueue(chunk)
    },
  })
}

function refusalBound(): TransformStream<Uint8Array, Uint8Array> {
  let left = maxRefusalBytes
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.terminate()
    },
  })
}
