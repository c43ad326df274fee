import type { Post, Reply } from './post.js'

/** Sends a request with a `fetch` that the host passes. */
export async function postWith(
  fetch: typeof globalThis.fetch,
  { url, headers, body, signal }: Post,
): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
  const reader = response.body?.getReader()
  return {
    status: response.status,
    headers: response.headers,
    url: response.url,
    read: async () => (await reader?.read())?.value,
    // Not awaited: the result of cancelling a body does not matter.
    drop: () => void reader?.cancel().catch(() => undefined),
  }
}
