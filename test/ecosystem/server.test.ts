import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MemorySessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directory, headers, startServer, token } from '../server/support.js'
import { waysToServe } from '../server/with-worker.js'
import type { Chat } from './chat.js'
import { installedPackages, loadPackage, requirePackage } from './install.js'

const writing = [
  {
    text: 'I write it.',
    toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hi' }, id: 'call-1' }],
  },
  'Written.',
]

const chats = [
  { version: 'ai 6', react: '@ai-sdk/react', core: 'ai-6' },
  // It asks for Node 22; `npm run test:matrix` runs it there.
  { version: 'ai 7', react: 'ai-react-4', core: 'ai' },
]

describe.each(chats.flatMap((chat) => waysToServe.map((way) => ({ ...chat, ...way }))))(
  'the chat of @ai-sdk/react with $version $name',
  ({ react, core, serve }) => {
    async function open(url: string, id: string): Promise<Chat & { resumeStream(): Promise<void> }> {
      const [{ Chat: ReactChat }, ai] = await Promise.all([loadPackage(react), loadPackage(core)])
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
      const { url, workspace, call } = await serve(writing)
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
      const { url, workspace } = await serve([...writing.slice(0, 1), 'As you wish.'])
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
      const { url, call } = await serve(writing)
      expect((await call('GET', '/v1/chat/chat-3/stream')).status).toBe(204)
      const first = await open(url, 'chat-3')
      await first.sendMessage({ text: 'Write a file.' })
      const second = await open(url, 'chat-3')
      await second.resumeStream()
      await vi.waitFor(
        () =>
          expect(second.messages.at(-1)?.parts.some(({ state }) => state === 'approval-requested')).toBe(
            true,
          ),
        { timeout: 60_000 },
      )
    })
  },
)

describe.each(waysToServe)('the HttpAgent of @ag-ui/client $name', ({ serve }) => {
  it('runs, is interrupted for an approval, resumes, and a repeated answer has no effect', async () => {
    const { HttpAgent } = await loadPackage('@ag-ui/client')
    const { url, workspace, call } = await serve(writing)
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
    const { runs } = (await call('GET', '/v1/sessions/thread-1/runs')).body
    // A run that waited in the queue is resumed by another run of the log.
    expect(runs.filter((one: { resumedFrom?: string }) => one.resumedFrom === undefined)).toHaveLength(1)
  })
})

describe('the OpenAPI document', () => {
  it('is valid for redocly, and a client that is generated from it succeeds with every route', async () => {
    const place = directory()
    const workspace = directory()
    writeFileSync(join(workspace, 'package.json'), JSON.stringify({ scripts: { test: 'true' } }))
    const store = new MemorySessionStore()
    const { url, server, call } = await startServer({
      store,
      workspaces: [workspace],
      hostTools: ['glob', 'verify', 'fetch_tide'],
      inspector: true,
      session: {
        model: obedientModel(),
        tools: [tideTool],
        // No worker takes the calls of this lane: they become dead letters.
        queueConfig: {
          enableDlq: true,
          toolLanes: { fetch_tide: 'generate' },
          laneHandlers: { generate: { mode: 'external', timeoutMs: 20 } },
          retryPolicy: { strategy: 'none' },
        },
      },
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
    const { default: openapiTS, astToString } = requirePackage('openapi-typescript')
    const types: string = astToString(await openapiTS(JSON.parse(JSON.stringify(server.openapi))))
    for (const path of Object.keys(server.openapi['paths'] as object)) expect(types).toContain(`"${path}"`)
    mkdirSync(join(place, 'types'))
    writeFileSync(join(place, 'types/api.d.ts'), types)

    const { default: createClient } = await loadPackage('openapi-fetch')
    const client = createClient({ baseUrl: url, headers: { authorization: `Bearer ${token}` } })
    const succeeded = new Set<string>()
    const documented = server.openapi['paths'] as Paths
    /** Calls a route, and checks that the document has its answer. */
    const use = async (method: string, path: string, init: object = {}, status = 200) => {
      const { data, error, response } = await client[method](path, init)
      expect([method, path, response.status, error]).toEqual([
        method,
        path,
        status,
        status < 400 ? undefined : expect.anything(),
      ])
      const answer = documented[path]?.[method.toLowerCase()]?.responses[status]
      expect(answer, `${method} ${path} ${status} in the document`).toBeDefined()
      if (status < 400) succeeded.add(`${method} ${path}`)
      else expect(codesOf(answer), `${method} ${path}`).toContain(error.code)
      return data
    }
    const base = '/v1/sessions/{sessionId}'
    const open = async (body: object = {}) => {
      const { sessionId } = await use('POST', '/v1/sessions', { body }, 201)
      const params = (more: object = {}) => ({ path: { sessionId, ...more } })
      const start = async (prompt: string): Promise<string> =>
        (await use('POST', `${base}/runs`, { params: params(), body: { prompt } }, 202)).runId
      const end = (runId: string) =>
        use('GET', `${base}/runs/{runId}/events`, { params: params({ runId }), parseAs: 'text' })
      const first = (list: 'approvals' | 'questions') =>
        vi.waitFor(
          async () => {
            const [one] = (await use('GET', `${base}/${list}`, { params: params() }))[list]
            expect(one).toBeDefined()
            return one
          },
          { timeout: 60_000 },
        )
      return { sessionId, params, start, end, first }
    }
    for (const path of ['/healthz', '/readyz', '/v1/openapi.json', '/v1/sessions']) await use('GET', path)
    await use('GET', '/metrics', { parseAs: 'text' })

    // A run that changes a file, and everything that is read of it.
    const worker = await open({ options: { mode: 'full' } })
    const { params } = worker
    const runId = await worker.start('Write.')
    await worker.end(runId)
    await use('GET', `${base}/runs/{runId}`, { params: params({ runId }) })
    for (const path of [
      '',
      '/runs',
      '/history',
      '/messages',
      '/changes',
      '/tools',
      '/traces',
      '/usage',
      '/todos',
      '/mcp',
      '/context',
      '/queue',
      '/images',
    ])
      await use('GET', `${base}${path}`, { params: params() })
    await use('GET', `${base}/runs/{runId}/log`, { params: params({ runId }) })
    for (const path of ['/v1/schedules', '/v1/cluster']) await use('GET', path)
    const loud = await worker.start('Loud.')
    await worker.end(loud)
    const output = { params: params({ runId: loud, callId: 'call-loud' }) }
    const { total } = await use('GET', `${base}/runs/{runId}/calls/{callId}/output`, output)
    expect(total).toBeGreaterThan(300_000)
    const silent = { params: params({ runId, callId: 'none' }) }
    await use('GET', `${base}/runs/{runId}/calls/{callId}/output`, silent, 404)
    const attachments = [{ data: pixel, mediaType: 'image/png' }]
    const shown = { params: params(), body: { prompt: 'Look.', attachments } }
    await worker.end((await use('POST', `${base}/runs`, shown, 202)).runId)
    const [{ imageId }] = (await use('GET', `${base}/images`, { params: params() })).images
    await use('GET', `${base}/images/{imageId}`, { params: params({ imageId }), parseAs: 'blob' })
    await use('GET', `${base}/images/{imageId}`, { params: params({ imageId: 'none' }) }, 404)
    const tide = { params: params({ toolName: 'fetch_tide' }), body: {} }
    await use('POST', `${base}/tools/{toolName}`, tide)
    const { deadLetters } = await use('GET', `${base}/queue`, { params: params() })
    const retry = `${base}/queue/dead-letters/{commandId}/retry`
    const { commandId } = deadLetters[0]
    await use('POST', retry, { params: params({ commandId }), body: { evenIfItMayHaveRun: true } })
    await use('POST', retry, { params: params({ commandId }), body: {} }, 404)
    await use('POST', `${base}/undo`, { params: params(), body: { runId } })
    await use('POST', `${base}/messages`, { params: params(), body: { text: 'And again.' } }, 202)
    await use('PATCH', base, { params: params(), body: { title: 'Named' } })
    const explained = { toolName: 'glob', args: { pattern: '*' } }
    await use('POST', `${base}/permissions/explain`, { params: params(), body: explained })
    const glob = { args: { pattern: '*' } }
    await use('POST', `${base}/tools/{toolName}`, { params: params({ toolName: 'glob' }), body: glob })
    await use('POST', `${base}/side-questions`, { params: params(), body: { question: 'Well?' } })
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    await use('POST', `${base}/objects`, { params: params(), body: { prompt: 'Object.', schema } })
    await use('POST', `${base}/verify`, { params: params(), body: { checks: ['npm:test'] } })

    // Runs that are active: steered, cancelled, answered.
    const waiting = await open()
    const hanging = { params: waiting.params({ runId: await waiting.start('Hang.') }) }
    await vi.waitFor(
      () => use('POST', `${base}/runs/{runId}/steer`, { ...hanging, body: { text: 'Left.' } }, 202),
      { timeout: 60_000 },
    )
    await use('POST', `${base}/runs/{runId}/cancel`, hanging)
    await use('POST', `${base}/runs/{runId}/cancel`, hanging, 409)
    await use('POST', `${base}/runs/{runId}/steer`, { ...hanging, body: { text: 'x' } }, 409)
    await waiting.start('Write.')
    const { callId } = await waiting.first('approvals')
    const approval = { params: waiting.params({ callId }), body: { decision: 'once' } }
    await use('POST', `${base}/approvals/{callId}`, approval)
    await use('POST', `${base}/approvals/{callId}`, approval, 409)
    await use(
      'POST',
      `${base}/approvals/{callId}`,
      { ...approval, params: waiting.params({ callId: 'x' }) },
      404,
    )
    await waiting.start('Ask.')
    const { questionId } = await waiting.first('questions')
    const question = { params: waiting.params({ questionId }), body: { answers: [['blue']] } }
    await use('POST', `${base}/questions/{questionId}`, question)
    await use('POST', `${base}/questions/{questionId}`, question, 409)

    // The inspector's page.
    await use('GET', '/v1/inspector')
    const { code } = await use('POST', '/v1/inspector/codes', {}, 201)
    await use('POST', '/v1/inspector/sign-in', { body: { code }, headers: { origin: url } })
    await use('POST', '/v1/inspector/sign-out', {}, 204)
    const { linkId } = await use('POST', `${base}/links`, { params: params(), body: { minutes: 5 } }, 201)
    await use('GET', `${base}/links`, { params: params() })
    await use('DELETE', `${base}/links/{linkId}`, { params: params({ linkId }) }, 204)

    // A run whose server ended.
    const [stopped] = (await use('GET', `${base}/runs`, { params: params() })).runs
    await use('POST', `${base}/runs/{runId}/resume`, { params: params({ runId: stopped.runId }) }, 409)
    const earlier = await startServer({
      store,
      workspaces: [workspace],
      session: { model: scriptedModel([{ hang: true }]) },
    })
    const { sessionId: left } = (await earlier.call('POST', '/v1/sessions', {})).body
    const cut = (await earlier.call('POST', `/v1/sessions/${left}/runs`, { prompt: 'Continue.' })).body.runId
    await earlier.stop()
    await use(
      'POST',
      `${base}/runs/{runId}/resume`,
      { params: { path: { sessionId: left, runId: cut } } },
      202,
    )

    const { messages } = await use('GET', `${base}/messages`, { params: params() })
    await vi.waitFor(
      async () => expect((await call('GET', `/v1/sessions/${worker.sessionId}`)).body.status).toBe('idle'),
      { timeout: 60_000 },
    )
    await use('POST', `${base}/fork`, { params: params(), body: {} }, 201)
    await use('POST', `${base}/rewind`, { params: params(), body: { messageId: messages[0].id } })
    await use('POST', `${base}/unrewind`, { params: params() })
    const exported: string = await use('GET', `${base}/export`, { params: params(), parseAs: 'text' })
    await use('POST', `${base}/close`, { params: params() }, 204)
    await use('DELETE', base, { params: params() }, 204)
    await use('GET', base, { params: params() }, 404)
    await use('POST', '/v1/sessions/import', { body: { lines: exported.trim().split('\n') } }, 201)
    const parts = [{ type: 'text', text: 'Hi.' }]
    const chat = { id: 'c', messages: [{ id: 'm', role: 'user', parts }] }
    await use('POST', '/v1/chat', { body: chat, parseAs: 'text' })
    await use('GET', '/v1/chat/{id}/stream', { params: { path: { id: 'c' } }, parseAs: 'text' }, 204)
    await use('POST', '/v1/ag-ui', {
      body: { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi.' }] },
      parseAs: 'text',
    })
    const leaving = new AbortController()
    await use('GET', '/v1/events', { parseAs: 'stream', signal: leaving.signal })
    leaving.abort()
    const all = Object.entries(documented).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(all.filter((one) => !succeeded.has(one))).toEqual([])
  })
})

const tideTool = createJsonTool({
  name: 'fetch_tide',
  description: 'The tide.',
  parameters: { type: 'object', properties: {} },
  execute: () => 'high',
})

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

type Paths = Record<string, Record<string, { readonly responses: Record<number, unknown> }>>

/** The codes of problems that the document has for an answer. */
function codesOf(answer: unknown): readonly string[] {
  return [...JSON.stringify(answer).matchAll(/"enum":\[([^\]]*)\]/g)].flatMap(([, codes]) =>
    JSON.parse(`[${codes}]`),
  )
}

/** A model that does what the last message of the user says. */
function obedientModel() {
  return scriptedModel((request) => {
    const { chatHistory, tools } = request
    const asked = JSON.stringify(chatHistory.findLast(({ role }) => role === 'user')?.content ?? '')
    if (chatHistory.at(-1)?.role === 'tool') return 'Done.'
    if (asked.includes('Hang.')) return { hang: true }
    if (asked.includes('Write.'))
      return { toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hi' } }] }
    if (asked.includes('Loud.'))
      return { toolCalls: [{ name: 'bash', args: { command: 'seq 1 60000' }, id: 'call-loud' }] }
    if (asked.includes('Ask.'))
      return { toolCalls: [{ name: 'question', args: { questions: [{ question: 'Which?' }] } }] }
    if (!asked.includes('Object.')) return 'Done.'
    const [tool] = tools
    return tool === undefined ? '{"name":"Ann"}' : { toolCalls: [{ name: tool.name, args: { name: 'Ann' } }] }
  })
}
