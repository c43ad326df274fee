import { textOfHtml } from '../html-text.js'
import { askForList, checkKey, endpoint, textIn } from './ask-provider.js'
import type { WebSearchProvider, WebSearchRequest } from './provider.js'

/** The key of a search service, and its address if it is not the usual one. */
export type KeyedService = { readonly apiKey: string; readonly baseUrl?: string | undefined }

/** The maximum number of results that these services return per request. */
const maxAllowedResults = 20

/** Searches with the web search API of Brave. At most 20 results per call. */
export function braveSearch({
  apiKey,
  baseUrl = 'https://api.search.brave.com',
}: KeyedService): WebSearchProvider {
  const headers = { accept: 'application/json', 'x-subscription-token': checkKey('brave', apiKey) }
  return jsonService('brave', baseUrl, '/res/v1/web/search', {
    list: ['web', 'results'],
    snippet: ['description', 'extra_snippets'],
    readText: textOfHtml,
    ask({ query, maxResults }, parameters) {
      parameters.set('q', query)
      parameters.set('count', String(Math.min(maxResults, maxAllowedResults)))
      parameters.set('text_decorations', 'false')
      return { headers }
    },
  })
}

/** Searches with the API of Exa. */
export function exaSearch({ apiKey, baseUrl = 'https://api.exa.ai' }: KeyedService): WebSearchProvider {
  const key = checkKey('exa', apiKey)
  return jsonService('exa', baseUrl, '/search', {
    snippet: ['highlights', 'summary', 'text'],
    ask: ({ query, maxResults }) =>
      post({ 'x-api-key': key }, { query, numResults: maxResults, contents: { text: snippetLength } }),
  })
}

/** How much of each page to request for the snippet. */
const snippetLength = { maxCharacters: 500 }

/** Searches with the API of Tavily. At most 20 results per call. */
export function tavilySearch({
  apiKey,
  baseUrl = 'https://api.tavily.com',
}: KeyedService): WebSearchProvider {
  const authorization = `Bearer ${checkKey('tavily', apiKey)}`
  return jsonService('tavily', baseUrl, '/search', {
    snippet: ['content'],
    ask: ({ query, maxResults }) =>
      post({ authorization }, { query, max_results: Math.min(maxResults, maxAllowedResults) }),
  })
}

/**
 * Searches with a SearXNG instance. One on a private address must be in the session's `network.allowPrivate`, as
 * `host:port`.
 */
export function searxngSearch({ baseUrl }: { readonly baseUrl: string }): WebSearchProvider {
  return jsonService('searxng', baseUrl, '/search', {
    snippet: ['content'],
    ask({ query }, parameters) {
      parameters.set('q', query)
      parameters.set('format', 'json')
      return { headers: { accept: 'application/json' }, advice: { 401: noJson, 403: noJson } }
    },
  })
}

const noJson =
  'this instance does not answer in JSON, or refuses automated queries. Its settings.yml must list "json" under search.formats.'

type JsonService = {
  /** Where the results are in the answer. Default: `results`. */
  readonly list?: readonly string[]
  /** The fields of a result that can hold its snippet, the best first. */
  readonly snippet: readonly string[]
  /** Reads titles and snippets. Default: they are plain text. */
  readText?(text: string): string
  /** Returns the request, and sets the parameters of its address. */
  ask(request: WebSearchRequest, parameters: URLSearchParams): Parameters<typeof askForList>[4]
}

function jsonService(name: string, baseUrl: string, path: string, service: JsonService): WebSearchProvider {
  const at = endpoint(name, baseUrl, path)
  const { list = ['results'], snippet, readText = (text) => text } = service
  return {
    name,
    hosts: at.hosts,
    async search(request) {
      const url = new URL(at.url)
      const found = await askForList(at, url, request, list, service.ask(request, url.searchParams))
      return found.map((result) => ({
        title: readText(textIn(result, 'title')),
        url: textIn(result, 'url'),
        snippet: readText(textIn(result, ...snippet)),
      }))
    },
  }
}

function post(headers: Readonly<Record<string, string>>, body: object): Parameters<typeof askForList>[4] {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
  }
}
