import { textOfHtml } from '../html-text.js'
import { askForList, checkKey, endpoint, textIn } from './ask-provider.js'
import type { WebSearchProvider } from './provider.js'

/** The service gives no more in one request. */
const maxAllowedResults = 20

/** Brave Search, by its web search API. At most 20 results a call. */
export function braveSearch({
  apiKey,
  baseUrl = 'https://api.search.brave.com',
}: {
  readonly apiKey: string
  readonly baseUrl?: string | undefined
}): WebSearchProvider {
  const at = endpoint('brave', baseUrl, '/res/v1/web/search')
  const key = checkKey('brave', apiKey)
  return {
    name: 'brave',
    hosts: at.hosts,
    async search(request) {
      const url = new URL(at.url)
      url.searchParams.set('q', request.query)
      url.searchParams.set('count', String(Math.min(request.maxResults, maxAllowedResults)))
      url.searchParams.set('text_decorations', 'false')
      const headers = { accept: 'application/json', 'x-subscription-token': key }
      const found = await askForList(at, url, request, ['web', 'results'], { headers })
      return found.map((result) => ({
        title: textOfHtml(textIn(result, 'title')),
        url: textIn(result, 'url'),
        snippet: textOfHtml(textIn(result, 'description', 'extra_snippets')),
      }))
    },
  }
}
