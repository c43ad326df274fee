import { askForList, checkKey, endpoint, textIn } from './ask-provider.js'
import type { WebSearchProvider } from './provider.js'

const maxAllowedResults = 20

/** Tavily, by its search API. At most 20 results a call. */
export function tavilySearch({
  apiKey,
  baseUrl = 'https://api.tavily.com',
}: {
  readonly apiKey: string
  readonly baseUrl?: string | undefined
}): WebSearchProvider {
  const at = endpoint('tavily', baseUrl, '/search')
  const key = checkKey('tavily', apiKey)
  return {
    name: 'tavily',
    hosts: at.hosts,
    async search(request) {
      const body = { query: request.query, max_results: Math.min(request.maxResults, maxAllowedResults) }
      const found = await askForList(at, at.url, request, ['results'], {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          authorization: `Bearer ${key}`,
        },
        body: JSON.stringify(body),
      })
      return found.map((result) => ({
        title: textIn(result, 'title'),
        url: textIn(result, 'url'),
        snippet: textIn(result, 'content'),
      }))
    },
  }
}
