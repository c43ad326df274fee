import { ProblemError } from './problem.js'

/** Reads the JSON body of a request, up to a number of bytes. Returns `{}` when it has none. */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get('content-type')
  const declared = Number(request.headers.get('content-length') ?? 'NaN')
  // Any web page can send a form or plain text without a preflight request.
  if (type !== null && !/^application\/json(;|$)/i.test(type.trim()))
    throw new ProblemError('unsupported_media_type')
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const bytes = await readBytes(request, maxBytes)
  if (bytes.length === 0) return {}
  if (type === null) throw new ProblemError('unsupported_media_type')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new ProblemError('invalid_request', 'The body is not JSON.')
  }
}

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  for (;;) {
    const { value, done } = await reader.read().catch(() => {
      throw new ProblemError('invalid_request', 'The body was not complete.')
    })
    if (done) break
    length += value.length
    if (length > maxBytes) {
      await reader.cancel()
      throw tooLarge(maxBytes)
    }
    chunks.push(value)
  }
  return Buffer.concat(chunks)
}

function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError('body_too_large', `The body has more than ${maxBytes} bytes.`)
}
