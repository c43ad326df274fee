import { askForList, checkKey, endpoint, textIn } from './ask-provider.js'
import type { WebSearchProvider } from './provider.js'

/** How much of each page to ask for: a snippet is made of it. */
const snippetCharacters = 500

/** Exa, by its search API. */
export function exaSearch({
  apiKey,
  baseUrl = 'https://api.exa.ai',
}: {
  readonly apiKey: string
  readonly baseUrl?: string | undefined
}): WebSearchProvider {
  const at = endpoint('exa', baseUrl, '/search')
  const key = checkKey('exa', apiKey)
  return {
    name: 'exa',
    hosts: at.hosts,
    async search(request) {
      const body = {
        query: request.query,
        numResults: request.maxResults,
        contents: { text: { maxCharacters: snippetCharacters } },
      }
      const found = await askForList(at, at.url, request, ['results'], {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', 'x-api-key': key },
        body: JSON.stringify(body),
      })
      return found.map((result) => ({
        title: textIn(result, 'title'),
        url: textIn(result, 'url'),
        snippet: textIn(result, 'highlights', 'summary', 'text'),
      }))
    },
  }
}
