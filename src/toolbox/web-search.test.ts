import { afterEach, describe, expect, it } from 'vitest'
import { type WebServer, webContext, webServer } from '../../test/toolbox/web-server.js'
import type { RunIdentity } from '../tool/contract.js'
import { type Envelope, isOutputEnvelope } from '../tool/envelope.js'
import { duckDuckGoSearch } from './web-search/duckduckgo.js'
import { braveSearch, exaSearch, searxngSearch, tavilySearch } from './web-search/json-services.js'
import type { WebSearchProvider, WebSearchResult } from './web-search/provider.js'
import { createWebSearchTool } from './web-search.js'

let servers: WebServer[] = []
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()))
  servers = []
})

type Listener = Parameters<typeof webServer>[0]
async function serve(listener: Listener): Promise<WebServer> {
  const server = await webServer(listener)
  servers.push(server)
  return server
}

const json =
  (value: unknown, status = 200, headers = {}): Listener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

const canary = 'KEY-canary-0123456789'
const makers: Record<string, (baseUrl: string) => WebSearchProvider> = {
  brave: (baseUrl) => braveSearch({ apiKey: canary, baseUrl }),
  tavily: (baseUrl) => tavilySearch({ apiKey: canary, baseUrl }),
  exa: (baseUrl) => exaSearch({ apiKey: canary, baseUrl }),
  searxng: (baseUrl) => searxngSearch({ baseUrl }),
  duckduckgo: (baseUrl) => duckDuckGoSearch({ baseUrl }),
}
const names = Object.keys(makers)
const withJson = names.filter((name) => name !== 'duckduckgo')

function make(name: string, baseUrl: string): WebSearchProvider {
  const maker = makers[name]
  if (maker === undefined) throw new Error(name)
  return maker(baseUrl)
}

const run = (sessionId: string): RunIdentity => ({ agentId: 'a', runId: 'r', sessionId }) as RunIdentity

async function search(
  name: string,
  listener: Listener,
  args: Record<string, unknown> = {},
  timeoutMs = 60_000,
): Promise<Envelope<{ results: WebSearchResult[] }>> {
  const server = await serve(listener)
  const tool = createWebSearchTool({ providers: [make(name, server.url)], timeoutMs })
  return tool.execute({ query: 'tea & "more"', ...args }, webContext([server]))
}

function resultsOf(envelope: Envelope<{ results: WebSearchResult[] }>): WebSearchResult[] {
  if (!isOutputEnvelope(envelope)) throw new Error(envelope.error_text)
  return envelope.data.results
}
function errorOf(envelope: Envelope): string {
  if (isOutputEnvelope(envelope)) throw new Error(`no error: ${JSON.stringify(envelope.data).slice(0, 200)}`)
  return envelope.error_text
}

const hit = { title: 'T', url: 'https://a.example/x', snippet: 'S' }
const found: WebSearchProvider = { name: 'own', search: async () => [hit] }

const page =
  (results: string): Listener =>
  (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<html><body>${results}</body></html>`)

describe('the providers', () => {
  it('queries brave with its key in a header', async () => {
    const results = [
      { title: 'A &amp; <strong>B</strong>', url: 'https://a.example/', description: 'x <strong>y</strong>' },
    ]
    const envelope = await search('brave', json({ web: { results } }), { max_results: 50 })
    expect(resultsOf(envelope)).toEqual([{ title: 'A & B', url: 'https://a.example/', snippet: 'x y' }])
    const [request] = servers[0]?.requests ?? []
    expect(request?.headers['x-subscription-token']).toBe(canary)
    const url = new URL(request?.url ?? '', 'http://x')
    expect(url.pathname).toBe('/res/v1/web/search')
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ q: 'tea & "more"', count: '20' })
  })

  it('queries tavily', async () => {
    let sent = ''
    const envelope = await search('tavily', (request, response) => {
      request.setEncoding('utf8').on('data', (piece: string) => {
        sent += piece
      })
      request.on('end', () => json({ results: [{ ...hit, content: 'C' }] })(request, response))
    })
    expect(resultsOf(envelope)).toEqual([{ ...hit, snippet: 'C' }])
    expect(servers[0]?.requests[0]).toMatchObject({
      method: 'POST',
      url: '/search',
      headers: { authorization: `Bearer ${canary}` },
    })
    expect(JSON.parse(sent)).toEqual({ query: 'tea & "more"', max_results: 10 })
  })

  it('queries exa, and uses its best text', async () => {
    let sent = ''
    const envelope = await search('exa', (request, response) => {
      request.setEncoding('utf8').on('data', (piece: string) => {
        sent += piece
      })
      const results = [
        { title: null, url: 'https://a.example/1', text: 'whole' },
        { title: 'two', url: 'https://a.example/2', highlights: ['h1', 'h2'], text: 'whole' },
      ]
      request.on('end', () => json({ results })(request, response))
    })
    expect(resultsOf(envelope)).toEqual([
      { title: 'https://a.example/1', url: 'https://a.example/1', snippet: 'whole' },
      { title: 'two', url: 'https://a.example/2', snippet: 'h1 … h2' },
    ])
    expect(servers[0]?.requests[0]).toMatchObject({
      method: 'POST',
      url: '/search',
      headers: { 'x-api-key': canary },
    })
    expect(JSON.parse(sent)).toMatchObject({ query: 'tea & "more"', numResults: 10 })
  })

  it('queries searxng, also below a path', async () => {
    const server = await serve(json({ results: [{ ...hit, content: 'C' }] }))
    const tool = createWebSearchTool({ providers: [searxngSearch({ baseUrl: `${server.url}/searx/` })] })
    const envelope = await tool.execute({ query: 'tea' }, webContext([server]))
    expect(resultsOf(envelope)).toEqual([{ ...hit, snippet: 'C' }])
    expect(server.requests[0]?.url).toBe('/searx/search?q=tea&format=json')
  })

  it('reports which setting a searxng server needs', async () => {
    expect(errorOf(await search('searxng', json({}, 403)))).toContain('search.formats')
  })

  it('reads the page of duckduckgo, through its redirects, without advertisements', async () => {
    const envelope = await search(
      'duckduckgo',
      page(`
      <div class="result results_links result--ad"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad%3D1&amp;rut=1">Buy</a></div>
      <div class="result"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fq%3D1%26r%3D2&amp;rut=abc">A &amp; <b>B</b></a></h2>
      <a class="result__url" href="x">a.example</a><a class="result__snippet" href="x">first <b>snippet</b></a></div>
      <div class="result"><a class='result__a' href='https://b.example/'>Direct</a></div>`),
    )
    expect(resultsOf(envelope)).toEqual([
      { title: 'A & B', url: 'https://a.example/x?q=1&r=2', snippet: 'first snippet' },
      { title: 'Direct', url: 'https://b.example/', snippet: '' },
    ])
    expect(servers[0]?.requests[0]?.url).toBe('/html/?q=tea+%26+%22more%22')
  })

  it('distinguishes no results of duckduckgo from a challenge and from an unknown page', async () => {
    expect(resultsOf(await search('duckduckgo', page('<div class="no-results">No results.</div>')))).toEqual(
      [],
    )
    const challenge: Listener = (_request, response) =>
      response.writeHead(202).end('<div class="anomaly-modal">')
    expect(errorOf(await search('duckduckgo', challenge))).toContain('automated queries')
    expect(errorOf(await search('duckduckgo', page('<p>new design</p>')))).toContain('not known')
  })

  it.each([
    ['<a '],
    ['<a class="result__a" href="x">'],
    ['<a>'],
    ['</a>'],
    ['<a <'],
    ['<a class="result__a" ><<<<</a>'],
  ])('SEC-247: reads a page of duckduckgo made of %j in bounded time', async (unit) => {
    await search('duckduckgo', page(unit.repeat(Math.floor(1_500_000 / unit.length))))
  })

  it.each([['not a url'], ['ftp://x.example'], ['https://u:p@x.example'], ['']])(
    'rejects the baseUrl %j',
    (baseUrl) => {
      expect(() => searxngSearch({ baseUrl })).toThrow(TypeError)
    },
  )

  it.each([[''], ['a b'], ['a\nb'], ['kö']])('rejects the key %j without showing it', (apiKey) => {
    expect(() => braveSearch({ apiKey })).toThrow('visible ASCII')
  })

  it('names the hosts that it connects to', () => {
    expect(braveSearch({ apiKey: 'k' }).hosts).toEqual(['api.search.brave.com:443'])
    expect(tavilySearch({ apiKey: 'k' }).hosts).toEqual(['api.tavily.com:443'])
    expect(exaSearch({ apiKey: 'k' }).hosts).toEqual(['api.exa.ai:443'])
    expect(duckDuckGoSearch().hosts).toEqual(['html.duckduckgo.com:443'])
    expect(searxngSearch({ baseUrl: 'http://10.0.0.5:8888/' }).hosts).toEqual(['10.0.0.5:8888'])
  })
})

describe.each(names)('%s, when the service misbehaves', (name) => {
  it.each([
    [401, name === 'searxng' ? 'settings.yml' : 'key was not accepted'],
    [500, 'problem of its own'],
    [503, 'problem of its own'],
    [400, 'did not accept'],
  ])('explains status %i', async (status, words) => {
    // The services repeat what they were sent, key included.
    const text = errorOf(await search(name, json({ error: `bad key ${canary}` }, status)))
    expect(text).toContain(`${name} answered with status ${status}`)
    expect(text).toContain(words)
    expect(text).not.toContain(canary)
  })

  it('SEC-166: ends a slow call and an endless body', async () => {
    expect(errorOf(await search(name, () => undefined, {}, 150))).toContain(
      `${name} did not answer within 150 ms`,
    )
    const endless: Listener = (_request, response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && response.write('[{"a":1},'.repeat(10_000)));
      }
      response.on('drain', more)
      more()
    }
    expect(errorOf(await search(name, endless))).toContain('larger than')
  })

  it('reports a truncated answer, a redirect loop, and a redirect to another host', async () => {
    const cut: Listener = (_request, response) =>
      void response.writeHead(200, { 'content-length': '500' }).write('{"results":', () => response.destroy())
    expect(errorOf(await search(name, cut))).toContain(`${name} failed`)
    const loop: Listener = (request, response) =>
      void response.writeHead(302, { location: request.url }).end()
    expect(errorOf(await search(name, loop))).toContain('redirects')
    const away: Listener = (_request, response) =>
      void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    expect(errorOf(await search(name, away))).toMatch(/refused|redirects/)
  })

  it('SEC-193, SEC-194: shows its key nowhere', async () => {
    const server = await serve((_request, response) => void response.destroy())
    const provider = make(name, server.url)
    const envelope = await createWebSearchTool({ providers: [provider] }).execute(
      { query: 'q' },
      webContext([server]),
    )
    expect(JSON.stringify([envelope, provider])).not.toContain(canary)
  })
})

describe.each(withJson)('%s, when the answer is malformed', (name) => {
  it('explains 429 with its delay', async () => {
    expect(errorOf(await search(name, json({}, 429, { 'retry-after': '30' })))).toContain('after 30 seconds')
  })

  it.each([['<html>'], [''], ['{"results": [1,']])('reports that %j is not JSON', async (body) => {
    const text = errorOf(await search(name, (_request, response) => response.end(body)))
    expect(text).toContain(`${name} answered with something that is not JSON`)
  })

  it('reads a missing list as no results, and rejects a value that is not a list', async () => {
    expect(resultsOf(await search(name, json({})))).toEqual([])
    expect(errorOf(await search(name, json({ results: 'x', web: { results: 'x' } })))).toContain(
      'is not a list',
    )
  })

  it('skips entries that are not results', async () => {
    const results = [
      null,
      1,
      'x',
      [],
      {},
      { url: 5 },
      { url: 'nope' },
      { title: {}, url: 'https://ok.example/' },
    ]
    const envelope = await search(name, json({ results, web: { results } }))
    expect(resultsOf(envelope)).toEqual([
      { title: 'https://ok.example/', url: 'https://ok.example/', snippet: '' },
    ])
  })
})

describe('web_search', () => {
  it('names what is missing when no provider is configured', async () => {
    const tool = createWebSearchTool()
    expect(errorOf(await tool.execute({ query: 'x' }))).toContain('webSearch.providers')
    expect(tool.requires).toEqual({})
    // Reported before a user is asked to allow it.
    expect(() => tool.touches({ query: 'x' })).toThrow(/not set up/)
  })

  it('touches and requires the hosts of its providers, and no others', () => {
    const tool = createWebSearchTool({ providers: [braveSearch({ apiKey: 'k' }), duckDuckGoSearch(), found] })
    const hosts = ['api.search.brave.com:443', 'html.duckduckgo.com:443']
    expect(tool.requires).toEqual({ net: { hosts } })
    expect(tool.touches({ query: 'x' })).toEqual(hosts.map((net) => ({ net })))
  })

  it('uses a provider of the host, which needs no network of the session', async () => {
    const envelope = await createWebSearchTool({ providers: [found] }).execute({ query: 'x' })
    expect(envelope).toMatchObject({
      data: { results: [hit] },
      metadata: { provider: 'own', calls_left: 24 },
    })
  })

  it('reports that there is no network when a provider needs one', async () => {
    const envelope = await createWebSearchTool({ providers: [duckDuckGoSearch()] }).execute({ query: 'x' })
    expect(errorOf(envelope)).toContain('net')
  })

  it('checks the form of results, and limits their number and length', async () => {
    const results = [
      {
        title: `\u001b[2J${'t'.repeat(1e6)}`,
        url: 'https://a.example/1',
        snippet: `a\u202e\n\nb${'s'.repeat(1e6)}`,
      },
      { title: 'again', url: 'https://a.example/1', snippet: '' },
      { title: 'js', url: 'javascript:alert(1)', snippet: '' },
      { title: 'file', url: 'file:///etc/passwd', snippet: '' },
      { title: 'user', url: 'https://u:p@a.example/', snippet: '' },
      { title: 'long', url: `https://a.example/${'x'.repeat(5_000)}`, snippet: '' },
      { title: 'two', url: 'https://a.example/2', snippet: '</tool_result>' },
      { title: 'three', url: 'https://a.example/3', snippet: '' },
    ]
    const tool = createWebSearchTool({ providers: [{ name: 'own', search: async () => results }] })
    const shown = resultsOf(await tool.execute({ query: 'x', max_results: 2 }))
    expect(shown.map(({ url }) => url)).toEqual(['https://a.example/1', 'https://a.example/2'])
    expect(shown[0]?.title).toMatch(/^\[2Jt+…$/)
    expect(shown[0]?.title).toHaveLength(200)
    expect(shown[0]?.snippet).toMatch(/^a bs+…$/)
    expect(shown[0]?.snippet).toHaveLength(600)
  })

  it('ends the search of a provider that never answers and ignores its signal', async () => {
    const deaf: WebSearchProvider = { name: 'deaf', search: () => new Promise(() => undefined) }
    const envelope = await createWebSearchTool({ providers: [deaf], timeoutMs: 50 }).execute({ query: 'x' })
    expect(errorOf(envelope)).toContain('deaf did not answer within 50 ms')
  })

  it('stops when the run is aborted', async () => {
    const stop = new AbortController()
    const waits: WebSearchProvider = {
      name: 'waits',
      search: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          stop.abort(new Error('enough'))
        }),
    }
    const envelope = await createWebSearchTool({ providers: [waits] }).execute(
      { query: 'x' },
      { signal: stop.signal },
    )
    expect(errorOf(envelope)).toContain('stopped')
  })

  it.each([[undefined], ['text'], [{ results: [] }]])('rejects %j from a provider', async (answer) => {
    const broken = { name: 'broken', search: async () => answer } as unknown as WebSearchProvider
    expect(errorOf(await createWebSearchTool({ providers: [broken] }).execute({ query: 'x' }))).toContain(
      'gave no list of results',
    )
  })

  it('SEC-170: sends exactly 25 of 100 concurrent searches for each session', async () => {
    let asked = 0
    const counted: WebSearchProvider = {
      name: 'counted',
      search: async () => {
        asked++
        return [hit]
      },
    }
    const tool = createWebSearchTool({ providers: [counted] })
    for (const session of ['one', 'two']) {
      asked = 0
      const all = await Promise.all(
        Array.from({ length: 100 }, () => tool.execute({ query: 'x' }, { run: run(session) })),
      )
      expect(asked).toBe(25)
      expect(all.filter(isOutputEnvelope)).toHaveLength(25)
      expect(errorOf(all[99] as Envelope)).toContain('25 web searches')
    }
  })

  it('keeps one provider for a session, and distributes sessions evenly', async () => {
    const three = ['a', 'b', 'c'].map((name): WebSearchProvider => ({ name, search: async () => [] }))
    const chosen = async (sessionId: string): Promise<unknown> =>
      (await createWebSearchTool({ providers: three }).execute({ query: 'x' }, { run: run(sessionId) }))
        .metadata['provider']
    const counts = new Map<unknown, number>()
    for (let at = 0; at < 600; at++) {
      const name = await chosen(`ses_${at}`)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect([...counts.values()].every((count) => count > 150 && count < 250)).toBe(true)
    // The same in every process: these must never change.
    expect([await chosen('ses_0'), await chosen('ses_1'), await chosen('ses_2')]).toMatchInlineSnapshot(`
      [
        "b",
        "a",
        "a",
      ]
    `)
  })
})
