import { type RequestListener, createServer as serveHttp } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { createClient } from '../../src/client/index.js'
import { type CapstanServer, createServer, toNodeListener } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { directory } from '../server/support.js'
import { loadPackage } from './install.js'

const token = 'a-token-of-the-frameworks'

async function openHandler(): Promise<CapstanServer> {
  const agent = await Agent.create({}, { userDir: directory(), env: {} })
  onTestFinished(() => agent.close())
  return createServer(agent, {
    token,
    workspaces: [directory()],
    session: { model: scriptedModel(() => 'Land in sight!') },
  })
}

async function listenWith(listener: RequestListener): Promise<string> {
  const server = serveHttp(listener)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A whole run over the API, with its stream. */
async function textOfRun(url: string): Promise<string> {
  const client = createClient({ url, token })
  const session = await client.createSession({})
  let text = ''
  for await (const event of await session.run('What do you see?'))
    if (event.type === 'text_delta') text += event.text
  return text
}

describe('the handler of the server', () => {
  it('works below a path of Express', async () => {
    const { default: express } = await loadPackage('express')
    const app = express()
    app.get('/', (_: unknown, response: { send(text: string): void }) => response.send('the app'))
    app.use('/agent', toNodeListener(await openHandler()))
    const url = await listenWith(app)
    expect(await textOfRun(`${url}/agent`)).toBe('Land in sight!')
    expect(await (await fetch(url)).text()).toBe('the app')
  })

  it('works below a path of Hono', async () => {
    const { Hono } = await loadPackage('hono')
    const handler = await openHandler()
    const app = new Hono()
    app.get('/', (context: { text(text: string): Response }) => context.text('the app'))
    app.mount('/agent', handler)
    const url = await listenWith(toNodeListener(async (request) => app.fetch(request)))
    expect(await textOfRun(`${url}/agent`)).toBe('Land in sight!')
    expect(await (await fetch(url)).text()).toBe('the app')
  })

  it('accepts requests in the form of route handlers of web frameworks, without a listener', async () => {
    const handler = await openHandler()
    const response = await handler(
      new Request('http://127.0.0.1:3000/v1/sessions', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      }),
    )
    expect(response.status).toBe(201)
    expect((await response.json()).sessionId).toEqual(expect.any(String))
  })
})
