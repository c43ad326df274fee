import type { ConnectionOptions } from './connection-options.js'
import { type Post, post, postWith, type Reply } from './post.js'
import { proxyFor } from './proxy-for.js'
import { credentialsOf, type Route } from './route.js'

export type Sender = (request: Post) => Promise<Reply>

/**
 * Creates the function that sends the requests of a model to its URL. The credentials of a proxy are added to what
 * must never be shown. A proxy that cannot be used is reported with the first request, never skipped.
 */
export function createSender(options: ConnectionOptions, url: string, secrets: string[]): Sender {
  const route = routeTo(url, options)
  if (route !== undefined && !(route instanceof Error) && route.proxy !== undefined)
    secrets.push(...credentialsOf(route.proxy))
  let routed: Promise<Sender> | undefined
  const send: Sender = async (request) => {
    if (route === undefined) return post(request)
    if (route instanceof Error) throw route
    // The next request tries again: a missing file may be there then.
    routed ??= load(route).catch((error: unknown) => {
      routed = undefined
      throw error
    })
    return (await routed)(request)
  }
  return (request) => {
    const own = ownFetch(options)
    return own === undefined ? send(request) : postWith(own, request)
  }
}

/** Returns the `fetch` that a provider's library uses. */
export function createFetch(
  options: ConnectionOptions,
  url: string,
  secrets: string[],
): typeof globalThis.fetch {
  if (options.fetch !== undefined || routeTo(url, options) === undefined)
    return (input, init) => (options.fetch ?? globalThis.fetch)(input, init)
  const send = createSender(options, url, secrets)
  return async (input, init) => {
    const { fetchWith } = await import('./fetch-with.js')
    return fetchWith(send, input, init)
  }
}

function routeTo(url: string, { proxy: configured, caFile }: ConnectionOptions): Route | Error | undefined {
  try {
    const proxy = URL.canParse(url) ? proxyFor(new URL(url), configured, process.env) : undefined
    return proxy === undefined && caFile === undefined ? undefined : { proxy, caFile }
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
}

async function load(route: Route): Promise<Sender> {
  const { openRoute } = await import('./open-route.js')
  const open = openRoute(route)
  return (request) => post(request, open)
}

/** If the host replaced the global `fetch`, its replacement is used, unless the configuration names a connection. */
function ownFetch({ fetch, proxy, caFile }: ConnectionOptions): typeof globalThis.fetch | undefined {
  if (fetch !== undefined) return fetch
  const isConfigured = proxy !== undefined || caFile !== undefined
  return isConfigured || globalThis.fetch === nodeFetch ? undefined : globalThis.fetch
}

const nodeFetch = globalThis.fetch
