import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { createServer, listen } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { chromium, openPage } from '../inspector/browser.js'
import { directory } from './support.js'

/** Opens a stream with a cookie, cuts itself off once, and reports everything that it has seen. */
const page = `<!doctype html><script type="module">
const post = (path, body) => fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
const { sessionId } = await (await post('/v1/sessions', {})).json()
const { runId } = await (await post('/v1/sessions/' + sessionId + '/runs', { prompt: 'Count.' })).json()
const seen = []
const source = new EventSource('/v1/sessions/' + sessionId + '/runs/' + runId + '/events')
source.onmessage = ({ lastEventId, data }) => {
  const event = JSON.parse(data)
  seen.push([Number(lastEventId), event.type, event.text])
}
source.onerror = async () => {
  // After the end the browser connects again and is informed that there is nothing more.
  if (source.readyState === EventSource.CLOSED) await post('/seen', { seen })
}
</script>`

it.skipIf(chromium === undefined)(
  'EventSource in Chromium reads a run to its end, and stops at 204',
  async () => {
    const agent = await Agent.create()
    const server = createServer(agent, {
      workspaces: [directory()],
      authenticate: (request) =>
        request.headers.get('cookie')?.includes('user=ann') ? { id: 'ann' } : undefined,
      session: { model: scriptedModel(['One two three four.']) },
    })
    let report: (body: { seen: [number, string, string?][] }) => void = () => undefined
    const reported = new Promise<{ seen: [number, string, string?][] }>((resolve) => {
      report = resolve
    })
    const { url, close } = await listen(
      async (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === '/page')
          return new Response(page, {
            headers: { 'content-type': 'text/html', 'set-cookie': 'user=ann; HttpOnly; SameSite=Strict' },
          })
        if (pathname !== '/seen') return server(request)
        report(await request.json())
        return new Response(null, { status: 204 })
      },
      { port: 0 },
    )
    try {
      const { page: tab } = await openPage()
      await tab.goto(`${url}/page`)
      const { seen } = await reported
      expect(seen.map(([id]) => id)).toEqual(seen.map((_, at) => at + 1))
      expect(seen.at(-1)?.[1]).toBe('agent_end')
      expect(seen.map(([, , text]) => text ?? '').join('')).toBe('One two three four.')
    } finally {
      await server.close()
      await close()
      await agent.close()
    }
  },
)
