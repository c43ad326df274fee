import { askForList, endpoint, textIn } from './ask-provider.js'
import type { WebSearchProvider } from './provider.js'

const noJson =
  'this instance does not answer in JSON, or refuses automated queries. Its settings.yml must list "json" under search.formats.'

/** A SearXNG instance. One on a private address must be in the session's `network.allowPrivate`, as `host:port`. */
export function searxngSearch({ baseUrl }: { readonly baseUrl: string }): WebSearchProvider {
  const at = endpoint('searxng', baseUrl, '/search')
  return {
    name: 'searxng',
    hosts: at.hosts,
    async search(request) {
      const url = new URL(at.url)
      url.searchParams.set('q', request.query)
      url.searchParams.set('format', 'json')
      const headers = { accept: 'application/json' }
      const found = await askForList(at, url, request, ['results'], {
        headers,
        advice: { 401: noJson, 403: noJson },
      })
      return found.map((result) => ({
        title: textIn(result, 'title'),
        url: textIn(result, 'url'),
        snippet: textIn(result, 'content'),
      }))
    },
  }
}
