import { isRecord } from '../../tool/json.js'
import type { NetRequest, NetResponse } from '../../tool/runtime.js'
import { visibleLine } from '../untrusted-text.js'
import { webHost } from '../web-host.js'
import { WebSearchError, type WebSearchRequest } from './provider.js'

/** The answer of a search service is small; what is larger is not one. */
const maxAnswerBytes = 2 * 1024 * 1024

export type Endpoint = { readonly name: string; readonly url: URL; readonly hosts: readonly string[] }

/** The address of a service, from what the host configured. Throws `TypeError` for what is not an address of one. */
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

/** A key as a header can carry it; what is wrong with it is said without showing it. */
export function checkKey(name: string, apiKey: string): string {
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError(`The apiKey of ${name} must be a text of visible ASCII characters.`)
  return apiKey
}

/** Asks a service and returns its answer when it succeeds. Its own words are not passed on: they may repeat the key. */
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

/** The same for services that answer in JSON: the list at a path of it. */
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
  // A search without results leaves its list out, with some services.
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

/** The first of several fields that is a text. */
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
