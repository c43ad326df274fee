import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { directory, headers, startServer, token } from '../server/support.js'
import type { Chat } from './chat.js'
import { installedPackages } from './install.js'

/** A package of users, from where it is installed apart. */
// biome-ignore lint/suspicious/noExplicitAny: packages of others, with types of their own
async function load(name: string): Promise<any> {
  const folder = join(installedPackages, name)
  const { module, main, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entry = exports?.['.']?.import?.default ?? exports?.['.']?.import ?? module ?? main
  return import(pathToFileURL(join(folder, typeof entry === 'string' ? entry : main)).href)
}

const writing = [
  {
    text: 'I write it.',
    toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hi' }, id: 'call-1' }],
  },
  'Written.',
]

describe('the chat of @ai-sdk/react', () => {
  async function open(url: string, id: string): Promise<Chat & { resumeStream(): Promise<void> }> {
    const [{ Chat: ReactChat }, ai] = await Promise.all([load('@ai-sdk/react'), load('ai-6')])
    return new ReactChat({
      id,
      transport: new ai.DefaultChatTransport({
        api: `${url}/v1/chat`,
        headers: { authorization: `Bearer ${token}` },
      }),
      sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
    })
  }

  it('shows text, a call, its approval and its result in one message', async () => {
    const { url, workspace, call } = await startServer({ session: { model: scriptedModel(writing) } })
    const chat = await open(url, 'chat-1')
    await chat.sendMessage({ text: 'Write a file.' })
    await vi.waitFor(() => expect(chat.status).toBe('ready'), { timeout: 60_000 })
    expect(chat.error).toBeUndefined()
    const asked = chat.messages.at(-1)?.parts.find(({ state }) => state === 'approval-requested')
    expect(asked?.approval?.id).toBe('call-1')
    await chat.addToolApprovalResponse({ id: 'call-1', approved: true })
    await vi.waitFor(
      () => expect(chat.messages.at(-1)?.parts.some(({ text }) => text === 'Written.')).toBe(true),
      { timeout: 60_000 },
    )
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    const parts = chat.messages.at(-1)?.parts ?? []
    expect(parts.map(({ type }) => type)).toContain('data-usage')
    expect(parts.find(({ toolCallId }) => toolCallId === 'call-1')?.state).toBe('output-available')
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('hi')
    expect((await call('GET', '/v1/sessions/chat-1')).body.sessionId).toBe('chat-1')
  })

  it('has a rejected call as denied, and continues', async () => {
    const { url, workspace } = await startServer({
      session: { model: scriptedModel([...writing.slice(0, 1), 'As you wish.']) },
    })
    const chat = await open(url, 'chat-2')
    await chat.sendMessage({ text: 'Write a file.' })
    await chat.addToolApprovalResponse({ id: 'call-1', approved: false, reason: 'Not now.' })
    await vi.waitFor(
      () => expect(chat.messages.at(-1)?.parts.some(({ text }) => text === 'As you wish.')).toBe(true),
      { timeout: 60_000 },
    )
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false)
  })

  it('gets 204 when nothing is running, and the running message otherwise', async () => {
    const { url, call } = await startServer({ session: { model: scriptedModel(writing) } })
    expect((await call('GET', '/v1/chat/chat-3/stream')).status).toBe(204)
    const first = await open(url, 'chat-3')
    await first.sendMessage({ text: 'Write a file.' })
    const second = await open(url, 'chat-3')
    await second.resumeStream()
    await vi.waitFor(
      () =>
        expect(second.messages.at(-1)?.parts.some(({ state }) => state === 'approval-requested')).toBe(true),
      { timeout: 60_000 },
    )
  })
})

describe('the HttpAgent of @ag-ui/client', () => {
  it('runs, is interrupted for an approval, resumes, and a repeated answer has no effect', async () => {
    const { HttpAgent } = await load('@ag-ui/client')
    const { url, workspace, call } = await startServer({ session: { model: scriptedModel(writing) } })
    const agent = new HttpAgent({
      url: `${url}/v1/ag-ui`,
      headers: { authorization: `Bearer ${token}` },
      threadId: 'thread-1',
    })
    type Event = {
      type: string
      outcome?: { type: string; interrupts?: { id: string; responseSchema?: object; toolCallId?: string }[] }
    }
    const run = async (input: object): Promise<Event[]> => {
      const events: Event[] = []
      await agent.runAgent(input, { onEvent: ({ event }: { event: Event }) => void events.push(event) })
      return events
    }
    agent.addMessage({ id: 'm1', role: 'user', content: 'Write a file.' })
    const first = await run({})
    const types = first.map(({ type }) => type)
    expect(types[0]).toBe('RUN_STARTED')
    expect(types).toContain('TEXT_MESSAGE_CONTENT')
    expect(types.indexOf('TOOL_CALL_END')).toBeLessThan(types.indexOf('RUN_FINISHED'))
    const finished = first.at(-1)
    expect(finished).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } })
    const [interrupt] = finished?.outcome?.interrupts ?? []
    expect(interrupt).toMatchObject({ toolCallId: 'call-1', responseSchema: { type: 'object' } })
    const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
    const second = await run({ resume })
    expect(second.map(({ type }) => type)).toContain('TOOL_CALL_RESULT')
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('hi')
    const repeated = await fetch(`${url}/v1/ag-ui`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ threadId: 'thread-1', runId: 'again', messages: [], resume }),
    })
    expect(await repeated.text()).toContain('RUN_FINISHED')
    expect((await call('GET', '/v1/sessions/thread-1/runs')).body.runs).toHaveLength(1)
  })
})

describe('the OpenAPI document', () => {
  it('is valid for redocly, and a client that is generated from it calls every route', async () => {
    const place = directory()
    const { url, server, call } = await startServer({
      hostTools: ['glob', 'verify'],
      session: { mode: 'full', model: scriptedModel(Array.from({ length: 20 }, () => 'Done.')) },
    })
    expect((await call('GET', '/v1/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(server.openapi)))
    const file = join(place, 'openapi.json')
    writeFileSync(file, JSON.stringify(server.openapi))
    const redocly = join(installedPackages, '@redocly/cli/bin/cli.js')
    const linted = execFileSync(
      process.execPath,
      [redocly, 'lint', file, '--extends', 'spec', '--format', 'json'],
      {
        encoding: 'utf8',
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      },
    )
    expect(JSON.parse(linted).totals).toMatchObject({ errors: 0 })

    // The types of the document compile, and name every path.
    const { default: openapiTS, astToString } = await load('openapi-typescript')
    const types: string = astToString(await openapiTS(JSON.parse(JSON.stringify(server.openapi))))
    for (const path of Object.keys(server.openapi['paths'] as object)) expect(types).toContain(`"${path}"`)
    mkdirSync(join(place, 'types'))
    writeFileSync(join(place, 'types/api.d.ts'), types)

    const { default: createClient } = await load('openapi-fetch')
    const client = createClient({ baseUrl: url, headers: { authorization: `Bearer ${token}` } })
    const called = new Set<string>()
    const use = async (
      method: string,
      path: string,
      init: object = {},
      statuses: readonly number[] = [200],
    ) => {
      called.add(`${method} ${path}`)
      const { data, error, response } = await client[method](path, init)
      expect([method, path, response.status, error], `${method} ${path}`).toEqual([
        method,
        path,
        expect.toSatisfy((status) => statuses.includes(status)),
        response.ok ? undefined : expect.anything(),
      ])
      return data
    }
    const { sessionId } = await use('POST', '/v1/sessions', { body: {} }, [201])
    const session = { path: { sessionId } }
    const base = '/v1/sessions/{sessionId}'
    for (const path of ['/healthz', '/readyz', '/v1/openapi.json', '/v1/sessions']) await use('GET', path)
    await use('GET', '/metrics', { parseAs: 'text' })
    const { runId } = await use(
      'POST',
      `${base}/runs`,
      { params: session, body: { prompt: 'Do it.' } },
      [202],
    )
    const run = { path: { sessionId, runId } }
    await use('GET', `${base}/runs/{runId}/events`, { params: run, parseAs: 'text' })
    await use('GET', `${base}/runs/{runId}`, { params: run })
    await use('POST', `${base}/runs/{runId}/cancel`, { params: run }, [409])
    await use('POST', `${base}/runs/{runId}/steer`, { params: run, body: { text: 'x' } }, [409])
    await use('POST', `${base}/runs/{runId}/resume`, { params: run }, [409])
    await use('POST', `${base}/messages`, { params: session, body: { text: 'And again.' } }, [202])
    for (const path of [
      '',
      '/runs',
      '/approvals',
      '/questions',
      '/history',
      '/messages',
      '/changes',
      '/tools',
      '/traces',
      '/usage',
      '/todos',
      '/mcp',
    ])
      await use('GET', `${base}${path}`, { params: session })
    const exported: string = await use('GET', `${base}/export`, { params: session, parseAs: 'text' })
    await use('PATCH', base, { params: session, body: { title: 'Named' } })
    await use(
      'POST',
      `${base}/approvals/{callId}`,
      { params: { path: { sessionId, callId: 'x' } }, body: { decision: 'once' } },
      [404],
    )
    await use(
      'POST',
      `${base}/questions/{questionId}`,
      { params: { path: { sessionId, questionId: 'x' } }, body: { answers: [] } },
      [404],
    )
    await use('POST', `${base}/tools/{toolName}`, {
      params: { path: { sessionId, toolName: 'glob' } },
      body: { args: { pattern: '*' } },
    })
    await use('POST', `${base}/permissions/explain`, {
      params: session,
      body: { toolName: 'glob', args: { pattern: '*' } },
    })
    await use('POST', `${base}/side-questions`, { params: session, body: { question: 'Well?' } })
    await use(
      'POST',
      `${base}/objects`,
      { params: session, body: { prompt: 'x', schema: { type: 'object' } } },
      [200, 500],
    )
    await use('POST', `${base}/verify`, { params: session, body: {} }, [200, 400])
    await vi.waitFor(
      async () => expect((await call('GET', `/v1/sessions/${sessionId}`)).body.status).toBe('idle'),
      { timeout: 60_000 },
    )
    const { messages } = (await call('GET', `/v1/sessions/${sessionId}/messages`)).body
    await use('POST', `${base}/fork`, { params: session, body: {} }, [201])
    await use('POST', `${base}/undo`, { params: session, body: {} }, [200, 409])
    await use('POST', `${base}/rewind`, { params: session, body: { messageId: messages[0].id } })
    await use('POST', `${base}/unrewind`, { params: session })
    await use('POST', `${base}/close`, { params: session }, [204])
    await use('DELETE', base, { params: session }, [204])
    await use('POST', '/v1/sessions/import', { body: { lines: exported.trim().split('\n') } }, [201])
    const parts = [{ type: 'text', text: 'Hi.' }]
    await use('POST', '/v1/chat', {
      body: { id: 'c', messages: [{ id: 'm', role: 'user', parts }] },
      parseAs: 'text',
    })
    await use('GET', '/v1/chat/{id}/stream', { params: { path: { id: 'c' } }, parseAs: 'text' }, [200, 204])
    await use('POST', '/v1/ag-ui', {
      body: { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi.' }] },
      parseAs: 'text',
    })
    const leaving = new AbortController()
    called.add('GET /v1/events')
    const { response } = await client.GET('/v1/events', { parseAs: 'stream', signal: leaving.signal })
    expect(response.status).toBe(200)
    leaving.abort()
    const all = Object.entries(server.openapi['paths'] as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(all.filter((one) => !called.has(one))).toEqual([])
  })
})
