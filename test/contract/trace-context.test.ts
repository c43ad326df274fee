import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { createModel } from '../../src/model/index.js'
import { createServer as createCapstanServer, listen } from '../../src/server/index.js'
import type { SessionOptions } from '../../src/session/options.js'
import { FileSessionStore } from '../../src/store/index.js'
import type { TelemetryOptions } from '../../src/telemetry/options.js'
import type { OtelContext, OtelSpanOptions } from '../../src/telemetry/otel.js'
import { scriptedModel, startModelServer } from '../../src/testing/index.js'
import { startHttp } from '../mcp/http-server.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

type Span = {
  readonly name: string
  readonly traceparent: string
  readonly parent: string | undefined
  readonly links: readonly string[]
}

const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')

/** A tracer that follows the W3C form and records what it started. */
function openTracer(): { readonly tracer: NonNullable<TelemetryOptions['tracer']>; readonly spans: Span[] } {
  const spans: Span[] = []
  const idOf = (given: { traceId: string; spanId: string }): string =>
    `00-${given.traceId}-${given.spanId}-01`
  return {
    spans,
    tracer: {
      startSpan(name: string, options: OtelSpanOptions = {}, context?: OtelContext) {
        const parent = context?.getValue(spanKey) as
          | { spanContext(): { traceId: string; spanId: string } }
          | undefined
        const place = {
          traceId: parent?.spanContext().traceId ?? `${spans.length + 1}`.padStart(32, 'a'),
          spanId: `${spans.length + 1}`.padStart(16, 'b'),
          traceFlags: 1,
        }
        spans.push({
          name,
          traceparent: idOf(place),
          parent: parent && idOf(parent.spanContext()),
          links: (options.links ?? []).map((link) => idOf(link.context)),
        })
        return {
          setAttributes: () => undefined,
          setStatus: () => undefined,
          spanContext: () => place,
          end: () => undefined,
        }
      },
    },
  }
}

async function openAgent(more: Partial<TelemetryOptions> = {}) {
  const { tracer, spans } = openTracer()
  const root = temporaryDirectory()
  const telemetry = { tracer, ...more }
  const agent = await Agent.create({}, { telemetry, userDir: join(root, '.user'), env: {} })
  onTestFinished(() => agent.close())
  const named = (name: string): Span => {
    const found = spans.find((span) => span.name === name)
    if (found === undefined) throw new Error(`no span ${name} in ${spans.map((one) => one.name).join(', ')}`)
    return found
  }
  return { agent, root, spans, named }
}

const remote = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('the trace of a run in other processes', () => {
  it('is in the headers of requests to model hosts that are named, and of no others', async () => {
    const server = await startModelServer(() => ({ text: 'Done.' }))
    onTestFinished(() => server.close())
    for (const [provider, api] of [
      ['own', 'chat'],
      ['anthropic', 'messages'],
    ] as const) {
      const model = createModel({ provider, api, id: 'm', baseUrl: server.url, apiKey: 'key' })
      const traced = await openAgent({ propagateTo: ['127.0.0.1'] })
      await traced.agent.session(traced.root, { model }).send('Go.')
      expect(server.requests.at(-1)?.headers['traceparent']).toBe(traced.named('chat m').traceparent)
      const other = await openAgent({ propagateTo: ['*.example.com'] })
      await other.agent.session(other.root, { model }).send('Go.')
      expect(server.requests.at(-1)?.headers).not.toHaveProperty('traceparent')
    }
  })

  it('refuses a host pattern that is not valid when the agent is created', async () => {
    await expect(
      Agent.create({}, { telemetry: { tracer: openTracer().tracer, propagateTo: ['https://a/b'] } }),
    ).rejects.toMatchObject({ name: 'PatternError' })
  })

  it('is in the requests of tools to hosts that are named, and of no others', async () => {
    const seen: IncomingHttpHeaders[] = []
    const web = createServer((request, response) => {
      seen.push(request.headers)
      response.setHeader('content-type', 'text/plain').end('a page')
    })
    await new Promise<void>((listening) => web.listen(0, '127.0.0.1', listening))
    onTestFinished(() => void web.close())
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`
    const fetched = async (propagateTo: string[]) => {
      const opened = await openAgent({ propagateTo })
      const model = scriptedModel([{ toolCalls: [{ name: 'web_fetch', args: { url } }] }, 'Done.'])
      const options: SessionOptions = {
        model,
        network: { allowPrivate: true },
        permissionPolicy: { allow: [`web_fetch(${new URL(url).host})`] },
      }
      await opened.agent.session(opened.root, options).send('Go.')
      return opened
    }
    const traced = await fetched(['127.0.0.1'])
    expect(seen.at(-1)?.['traceparent']).toBe(traced.named('execute_tool web_fetch').traceparent)
    await fetched([])
    expect(seen).toHaveLength(2)
    expect(seen.at(-1)).not.toHaveProperty('traceparent')
  })

  it('is in the message and the headers of a call to an MCP server', async () => {
    const metas: unknown[] = []
    const server = await startHttp((rpc) => {
      if (rpc?.method === 'tools/call') metas.push((rpc.params as { _meta?: unknown })._meta)
      return false
    })
    onTestFinished(() => server.close())
    const { agent, root, named } = await openAgent()
    const model = scriptedModel([
      { toolCalls: [{ name: 'mcp__web__echo', args: { message: 'hi' } }] },
      'Done.',
    ])
    const session = agent.session(root, { model, permissionPolicy: { defaultDecision: 'allow' } })
    await session.addMcp({ name: 'web', url: server.url })
    await session.send('Go.')
    const { traceparent } = named('execute_tool mcp__web__echo')
    expect(metas).toEqual([expect.objectContaining({ traceparent })])
    const call = server.seen.find(({ rpc }) => rpc === 'tools/call')
    expect(call?.headers['traceparent']).toBe(traceparent)
  })

  it('starts with the header of a request to the server, whichever attempt of the client started the run', async () => {
    const { agent, root, spans } = await openAgent()
    const server = createCapstanServer(agent, {
      token: 'token-of-the-trace',
      workspaces: [root],
      session: { model: scriptedModel(['Done.']) },
    })
    const { url, close } = await listen(server, { port: 0 })
    onTestFinished(async () => {
      await server.close()
      await close()
    })
    const post = async (path: string, body: object, more: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer token-of-the-trace', 'content-type': 'application/json', ...more },
        body: JSON.stringify(body),
      })
      return (await response.json()) as Record<string, string>
    }
    const { sessionId } = await post('/v1/sessions', { workspace: root })
    const key = { 'idempotency-key': 'once' }
    const first = await post(
      `/v1/sessions/${sessionId}/runs`,
      { prompt: 'Go.' },
      { ...key, traceparent: remote },
    )
    const again = await post(
      `/v1/sessions/${sessionId}/runs`,
      { prompt: 'Go.' },
      { ...key, traceparent: remote.replace('b7', 'c8') },
    )
    expect(again['runId']).toBe(first['runId'])
    const runs = spans.filter(({ name }) => name === 'invoke_agent capstan')
    expect(runs.map(({ parent }) => parent)).toEqual([remote])
  })

  it('links a run that another process resumes to the run that was interrupted', async () => {
    const directory = join(temporaryDirectory(), 'store')
    const first = await openAgent()
    const call = { toolCalls: [{ name: 'ls', args: { path: '.' } }] }
    const open = ({ agent, root }: typeof first, script: Parameters<typeof scriptedModel>[0]) =>
      agent.session(root, {
        model: scriptedModel(script),
        sessionId: 's',
        sessionStore: new FileSessionStore(directory),
        retry: { maxRetries: 0 },
      })
    const failing = open(first, [call, { error: new Error('the provider is away') }])
    await expect(failing.send({ prompt: 'Go.', runId: 'r' })).rejects.toThrow()
    await first.agent.close()

    const { tracer, spans } = openTracer()
    const agent = await Agent.create(
      {},
      { telemetry: { tracer }, userDir: join(first.root, '.user'), env: {} },
    )
    onTestFinished(() => agent.close())
    const session = agent.resumeSession('s', {
      model: scriptedModel(['Done.']),
      sessionStore: new FileSessionStore(directory),
    })
    await session.resumeRun('r')
    const run = spans.find(({ name }) => name === 'invoke_agent capstan')
    expect(run?.links).toEqual([first.named('invoke_agent capstan').traceparent])
  })
})
