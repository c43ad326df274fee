import { maxRefusalBytes } from '../answer-limits.js'
import type { Reply } from '../connection/post.js'
import type { Refusal } from '../provider-error.js'

/** Reads an error response, up to a limit: the page of an unknown server can have any length. */
export async function readRefusal(reply: Reply, now: (() => number) | undefined): Promise<Refusal> {
  const { status, headers } = reply
  const location = headers.get('location')
  const body =
    status < 400 && location !== null
      ? `it redirects to ${originOf(location, reply.url)}: set the base URL to where the model is served`
      : await readSome(reply)
  return { status, headers, body, now }
}

async function readSome(reply: Reply): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (text.length < maxRefusalBytes) {
      const bytes = await reply.read()
      if (bytes === undefined) return text
      text += decoder.decode(bytes, { stream: true })
    }
  } catch {
    // The status is enough, so an incomplete body is not an error.
  }
  reply.drop()
  return text
}

function originOf(location: string, base: string): string {
  return URL.canParse(location, base) ? new URL(location, base).origin : 'another place'
}
