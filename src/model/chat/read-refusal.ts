import type { Refusal } from '../provider-error.js'

const longestRefusal = 64 * 1024

/** What a response that is no answer says, up to a bound: a page of an unknown server may be of any length. */
export async function readRefusal(response: Response, now: (() => number) | undefined): Promise<Refusal> {
  const { status, headers } = response
  const location = headers.get('location')
  const body =
    status < 400 && location !== null
      ? `it redirects to ${originOf(location, response.url)}: set the base URL to where the model is served`
      : await readSome(response)
  return { status, headers, body, ...(now !== undefined && { now }) }
}

async function readSome(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let text = ''
  try {
    while (reader !== undefined && text.length < longestRefusal) {
      const { value } = await reader.read()
      if (value === undefined) return text
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // The status says enough; a body that broke off adds what it can.
  }
  void reader?.cancel().catch(() => undefined)
  return text
}

function originOf(location: string, base: string): string {
  return URL.canParse(location, base) ? new URL(location, base).origin : 'another place'
}
