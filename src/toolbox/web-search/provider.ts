import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { RuntimeNet } from '../../tool/runtime.js'

/** One result of a web search. */
export type WebSearchResult = { readonly title: string; readonly url: string; readonly snippet: string }

/** The request to a search provider. */
export type WebSearchRequest = {
  readonly query: string
  readonly maxResults: number
  /** Aborted when the time of the call is up, or the run stops. */
  readonly signal: AbortSignal
  /** The session's guarded network, on which the provider's `hosts` can be reached. */
  readonly fetch: RuntimeNet['fetch']
}

/**
 * Where web searches go. Ones that need a key or their own client are a host's to write:
 *
 * @example
 * const wiki: WebSearchProvider = {
 *   name: 'wiki',
 *   hosts: ['en.wikipedia.org:443'],
 *   search: async ({ query, maxResults, fetch, signal }) => parse(await fetch(address(query, maxResults), { signal })),
 * }
 */
export interface WebSearchProvider {
  readonly name: string
  /** The hosts it reaches through `fetch`, each with its port; what is not listed is refused there. */
  readonly hosts?: readonly string[] | undefined
  search(request: WebSearchRequest): Promise<readonly WebSearchResult[]>
}

/** A search that was refused or failed, in words that name the provider and never its key. */
export class WebSearchError extends CapstanError {
  constructor(message: string) {
    super('web_search_failed', message)
  }
}

markErrorClass(WebSearchError, 'WebSearchError')
