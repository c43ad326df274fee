import { NetError } from './errors.js'
import { show } from './judge-url.js'
import { type Headers, headersForOtherOrigin, headersWithoutBody } from './request-headers.js'

export type HopRequest = {
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/**
 * Returns the target and the request of a redirect; undefined when the response is not a redirect. Pure; the new URL
 * still has to be checked.
 *
 * Credentials and bodies are not sent to another origin. A 307 or 308 that would send a body there is refused rather
 * than sent without it, because the method would then act on nothing.
 */
export function followRedirect(
  from: URL,
  status: number,
  location: string | undefined,
  request: HopRequest,
): { readonly target: string; readonly request: HopRequest } | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined
  if (to === undefined) {
    throw new NetError(
      'net_bad_response',
      `${show(from)} redirects to ${JSON.stringify(location.slice(0, 200))}, which is not a URL.`,
    )
  }
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    throw new NetError(
      'net_refused',
      `${show(from)} redirects from https to http (${show(to)}), which is refused.`,
    )
  }
  return { target: to.href, request: requestAfter(status, from, to, request) }
}

function requestAfter(status: number, from: URL, to: URL, request: HopRequest): HopRequest {
  const otherOrigin = from.origin !== to.origin
  const method = methodAfter(status, request.method)
  const readOnly = method === 'GET' || method === 'HEAD'
  if (otherOrigin && !readOnly) {
    throw new NetError(
      'net_refused',
      `${show(from)} redirects this ${method} to another origin; send it to ${show(to)} directly if that is meant.`,
    )
  }
  const keepBody = method === request.method && !otherOrigin
  const headers = otherOrigin ? headersForOtherOrigin(request.headers) : request.headers
  return keepBody
    ? { method, headers, body: request.body }
    : { method, headers: headersWithoutBody(headers), body: undefined }
}

// According to the Fetch standard: 303 turns everything but HEAD into GET, 301 and 302 only POST, 307 and 308 nothing.
function methodAfter(status: number, method: string): string {
  if (status === 303) return method === 'HEAD' ? 'HEAD' : 'GET'
  return (status === 301 || status === 302) && method === 'POST' ? 'GET' : method
}
