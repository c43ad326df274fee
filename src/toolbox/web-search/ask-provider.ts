import { isRecord } from '../../tool/json.js'
import type { NetRequest, NetResponse } from '../../tool/runtime.js'
import { visibleLine } from '../untrusted-text.js'
import { webHost } from '../web-host.js'
import { WebSearchError, type WebSearchRequest } from './provider.js'

/** Answers of search services are small; a larger one is not a search result. */
const maxAnswerBytes = 2 * 1024 * 1024

export type Endpoint = { readonly name: string; readonly url: URL; readonly hosts: readonly string[] }

/**
 * Returns the address of a service from the host's configuration. Throws `TypeError` when it is not a valid address.
 */
export function endpoint(name: string, baseUrl: string, path: string): Endpoint {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (base === undefined || !/^https?:$/.test(base.protocol) || base.username !== '' || base.password !== '')
    throw new TypeError(
      `The baseUrl of ${name} must be an http or https URL without user name and password, such as https://search.example/.`,
    )
  base.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`
  base.search = ''
  base.hash = ''
  return { name, url: base, hosts: [webHost(base)] }
}

/** Checks that a key can be sent in a header. The error does not contain the key. */
export function checkKey(name: string, apiKey: string): string {
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError(`The apiKey of ${name} must be a text of visible ASCII characters.`)
  return apiKey
}

/**
 * Sends a request to a service and returns its answer when it succeeds. Error texts of the service are not forwarded,
 * because they may repeat the key.
 */
export async function askProvider(
  { name }: Endpoint,
  url: URL,
  { fetch, signal }: WebSearchRequest,
  request: Pick<NetRequest, 'method' | 'headers' | 'body'> & {
    readonly advice?: Readonly<Record<number, string>> | undefined
  },
): Promise<NetResponse> {
  const { advice = {}, ...rest } = request
  const response = await fetch(url.href, { ...rest, signal, maxBytes: maxAnswerBytes })
  const { status, headers, truncated } = response
  if (status < 200 || status > 299)
    throw new WebSearchError(
      `The search provider ${name} answered with status ${status}: ${advice[status] ?? explain(status, headers['retry-after'])}`,
    )
  if (truncated)
    throw new WebSearchError(`The answer of the search provider ${name} is larger than any search result.`)
  return response
}

/** Calls {@link askProvider} for a service that answers in JSON, and returns the list at a path of the answer. */
export async function askForList(
  at: Endpoint,
  url: URL,
  search: WebSearchRequest,
  path: readonly string[],
  request: Parameters<typeof askProvider>[3],
): Promise<readonly Record<string, unknown>[]> {
  const { body } = await askProvider(at, url, search, request)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new WebSearchError(`The search provider ${at.name} answered with something that is not JSON.`)
  }
  for (const key of path) value = isRecord(value) ? value[key] : undefined
  if (Array.isArray(value)) return value.filter(isRecord)
  // Some services leave the list out when a search has no results.
  if (value === undefined || value === null) return []
  throw new WebSearchError(
    `The search provider ${at.name} answered in a form that is not known: ${path.join('.')} is not a list.`,
  )
}

function explain(status: number, retryAfter: string | undefined): string {
  if (status === 401 || status === 403)
    return 'the API key was not accepted. The host must check its key; searching again will not help.'
  if (status === 402 || status === 432 || status === 433)
    return 'the plan or quota of the API key is used up.'
  if (status === 429) {
    const wait =
      retryAfter === undefined
        ? 'later'
        : `after ${visibleLine(retryAfter, 40)}${/^\d+$/.test(retryAfter) ? ' seconds' : ''}`
    return `too many requests. Try again ${wait}.`
  }
  if (status >= 500) return 'it has a problem of its own. Try again later.'
  return 'it did not accept the request. Try a shorter or simpler query.'
}

/** Returns the first of several fields that contains text. */
export function textIn(record: Record<string, unknown>, ...fields: readonly string[]): string {
  for (const field of fields) {
    const value = record[field]
    if (typeof value === 'string' && value !== '') return value
    if (Array.isArray(value)) {
      const texts = value.slice(0, 10).filter((item) => typeof item === 'string')
      if (texts.length > 0) return texts.join(' … ')
    }
  }
  return ''
}
