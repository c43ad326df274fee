import { decodeEntities, textOfHtml } from '../html-text.js'
import { askProvider, endpoint } from './ask-provider.js'
import { WebSearchError, type WebSearchProvider, type WebSearchResult } from './provider.js'

const turnedAway =
  'it refuses automated queries for now. Try again later, or configure a provider that has an API.'

/**
 * Searches with DuckDuckGo's page for browsers without scripts. It needs no key and has no guarantees: it refuses
 * frequent requests, and its format can change.
 */
export function duckDuckGoSearch({
  baseUrl = 'https://html.duckduckgo.com',
}: {
  readonly baseUrl?: string | undefined
} = {}): WebSearchProvider {
  const at = endpoint('duckduckgo', baseUrl, '/html/')
  return {
    name: 'duckduckgo',
    hosts: at.hosts,
    async search(request) {
      const url = new URL(at.url)
      url.searchParams.set('q', request.query)
      const { status, body } = await askProvider(at, url, request, {
        headers: { accept: 'text/html' },
        advice: { 403: turnedAway, 418: turnedAway, 429: turnedAway },
      })
      const html = new TextDecoder().decode(body)
      const results = readResults(html, at.url)
      if (results.length > 0 || html.includes('no-results')) return results
      // A challenge (bot check) has the status 202.
      const why =
        status === 202 || html.includes('anomaly') ? turnedAway : 'its page has a form that is not known.'
      throw new WebSearchError(`The search provider duckduckgo gave no results: ${why}`)
    },
  }
}

/**
 * Returns the links of the result page, each with the snippet after it. One pass, so that the time is linear in the
 * length of any page.
 */
function readResults(html: string, base: URL): WebSearchResult[] {
  const results: { title: string; url: string; snippet: string }[] = []
  for (const { classes, href, inner } of linksOf(html)) {
    if (classes.includes('result__a')) {
      const url = target(href, base)
      if (url !== undefined) results.push({ title: textOfHtml(inner), url, snippet: '' })
    } else if (classes.includes('result__snippet')) {
      const last = results.at(-1)
      if (last?.snippet === '') last.snippet = textOfHtml(inner)
    }
  }
  return results
}

function* linksOf(html: string): Generator<{ classes: readonly string[]; href: string; inner: string }> {
  for (let at = html.indexOf('<a '); at >= 0; at = html.indexOf('<a ', at)) {
    const opened = html.indexOf('>', at)
    const closed = opened < 0 ? -1 : html.indexOf('</a>', opened)
    if (closed < 0) return
    const tag = html.slice(at, Math.min(opened, at + 8_000))
    const classes = attribute(tag, 'class').split(/\s+/)
    yield { classes, href: attribute(tag, 'href'), inner: html.slice(opened + 1, closed) }
    at = closed
  }
}

function attribute(tag: string, name: 'class' | 'href'): string {
  const found = (name === 'class' ? /\sclass\s*=\s*["']([^"']*)/ : /\shref\s*=\s*["']([^"']*)/).exec(tag)
  return decodeEntities(found?.[1] ?? '')
}

/**
 * Returns the target of a result. Links use a redirect page with the target as a parameter; advertisements have none.
 */
function target(href: string, base: URL): string | undefined {
  if (!URL.canParse(href, base)) return undefined
  const url = new URL(href, base)
  const carried = url.pathname === '/l/' ? url.searchParams.get('uddg') : null
  const final = carried === null ? url.href : carried
  return /^https?:\/\/(?:[\w-]+\.)?duckduckgo\.com\/y\.js/.test(final) ? undefined : final
}
