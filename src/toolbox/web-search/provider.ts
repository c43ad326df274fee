import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { RuntimeNet } from '../../tool/runtime.js'

/** One result of a web search. */
export type WebSearchResult = { readonly title: string; readonly url: string; readonly snippet: string }

/** The request to a search provider. */
export type WebSearchRequest = {
  readonly query: string
  readonly maxResults: number
  /** Aborted at the time limit of the call, or when the run stops. */
  readonly signal: AbortSignal
  /** The session's guarded network, which allows the provider's `hosts`. */
  readonly fetch: RuntimeNet['fetch']
}

/**
 * A provider of web searches. A host can write its own:
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
  /** The hosts that it connects to through `fetch`, each with its port; others are refused. */
  readonly hosts?: readonly string[] | undefined
  search(request: WebSearchRequest): Promise<readonly WebSearchResult[]>
}

/** Thrown when a search was refused or failed. The message names the provider and never its key. */
export class WebSearchError extends CapstanError {
  constructor(message: string) {
    super('web_search_failed', message)
  }
}

markErrorClass(WebSearchError, 'WebSearchError')
