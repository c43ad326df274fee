import type { ConnectionOptions } from './connection-options.js'
import { type Post, post, type Reply } from './post.js'

export type Sender = (request: Post) => Promise<Reply>

/**
 * Creates the function that sends the requests of a model to its URL. Code for proxies and certificates is loaded on
 * use. The credentials of a proxy are added to `secrets`, which must never be shown.
 */
export function createSender(options: ConnectionOptions, url: string, secrets: string[]): Sender {
  let routed: Promise<Sender> | undefined
  return async (request) => {
    const own = ownFetch(options)
    if (own !== undefined) {
      const { postWith } = await import('./post-with.js')
      return postWith(own, request)
    }
    if (!mayNeedRoute(options)) return post(request)
    // The next request tries again, because a missing file may exist by then.
    routed ??= openRoute(options, url, secrets).catch((error: unknown) => {
      routed = undefined
      throw error
    })
    return (await routed)(request)
  }
}

/** Returns whether a proxy or a certificate is configured; whether it applies to a URL is decided later. */
export function mayNeedRoute({ proxy, caFile }: ConnectionOptions): boolean {
  return proxy !== undefined || caFile !== undefined || proxyVariables.some((name) => process.env[name])
}

const proxyVariables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']

async function openRoute(options: ConnectionOptions, url: string, secrets: string[]): Promise<Sender> {
  const { routeTo } = await import('./open-route.js')
  const open = routeTo(url, options, secrets)
  return (request) => post(request, open)
}

/**
 * Returns the `fetch` of the host: the configured one, or its replacement of the global `fetch`, unless the
 * configuration sets a connection.
 */
function ownFetch({ fetch, proxy, caFile }: ConnectionOptions): typeof globalThis.fetch | undefined {
  if (fetch !== undefined) return fetch
  const isConfigured = proxy !== undefined || caFile !== undefined
  return isConfigured || globalThis.fetch === nodeFetch ? undefined : globalThis.fetch
}

const nodeFetch = globalThis.fetch
