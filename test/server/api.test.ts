import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MemorySessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { type AllEvent, directory, readAllEvents, readEvents, startServer } from './support.js'

const writing = [
  {
    text: 'I write the file now.',
    toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hello' }, id: 'call-1' }],
  },
  'The file is written.',
]

describe('the server', () => {
  it('opens a session, runs a prompt and streams its events to the end', async () => {
    const { call, url, workspace } = await startServer({
      session: { model: scriptedModel(['Land in sight!']) },
    })
    const created = await call('POST', '/v1/sessions', { title: 'A voyage' })
    expect(created).toMatchObject({ status: 201, body: { workspace, title: 'A voyage', status: 'idle' } })
    const { sessionId } = created.body
    const started = await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'What do you see?' })
    expect(started).toMatchObject({ status: 202, body: { sessionId } })
    const { runId } = started.body
    const events = await readEvents(url, `/v1/sessions/${sessionId}/runs/${runId}/events`)
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
    expect(events[0]?.event).toEqual({ type: 'agent_start', runId, prompt: 'What do you see?' })
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'Land in sight!' } })
    expect(await call('GET', `/v1/sessions/${sessionId}/runs/${runId}`)).toMatchObject({
      status: 200,
      body: { runId, status: 'completed', resultText: 'Land in sight!' },
    })
    const last = events.at(-1)?.sequence ?? 0
    expect((await call('GET', `/v1/sessions/${sessionId}/runs/${runId}/events?from=${last}`)).status).toBe(
      204,
    )
    expect((await call('GET', '/v1/sessions')).body.sessions).toMatchObject([
      { sessionId, title: 'A voyage' },
    ])
    expect((await call('GET', `/v1/sessions/${sessionId}/history`)).body.history).toHaveLength(2)
  })

  it('sends every event once when the connection is cut after each of them', async () => {
    const { call, url } = await startServer({ session: { mode: 'full', model: scriptedModel(writing) } })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const { runId } = (await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Write.' })).body
    const path = `/v1/sessions/${sessionId}/runs/${runId}/events`
    const joined = []
    for (let from = 0; ; ) {
      const [one] = await readEvents(url, path, { from, count: 1 })
      if (one === undefined) break
      joined.push(one)
      from = one.sequence ?? 0
    }
    expect(joined).toEqual(await readEvents(url, path))
    expect(joined.at(-1)?.event.type).toBe('agent_end')
  })

  it('waits for an approval, accepts one answer and rejects a second', async () => {
    const { call, url } = await startServer({ session: { model: scriptedModel(writing) } })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const { runId } = (await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Write.' })).body
    const stream = readEvents(url, `/v1/sessions/${sessionId}/runs/${runId}/events`)
    const path = `/v1/sessions/${sessionId}/approvals`
    await vi.waitFor(async () => expect((await call('GET', path)).body.approvals).toHaveLength(1), {
      timeout: 60_000,
    })
    const [approval] = (await call('GET', path)).body.approvals
    expect(approval).toMatchObject({ callId: 'call-1', toolName: 'write', args: { file_path: 'a.txt' } })
    expect(approval.rules).toBeInstanceOf(Array)
    expect(await call('POST', `${path}/call-1`, { decision: 'maybe' })).toMatchObject({ status: 400 })
    expect(await call('POST', `${path}/nothing`, { decision: 'once' })).toMatchObject({
      status: 404,
      body: { code: 'approval_not_found' },
    })
    expect((await call('POST', `${path}/call-1`, { decision: 'once' })).status).toBe(200)
    expect(await call('POST', `${path}/call-1`, { decision: 'reject' })).toMatchObject({
      status: 409,
      body: { code: 'already_answered', decision: 'once' },
    })
    const types = (await stream).map(({ event }) => event.type)
    expect(types).toContain('confirmation_required')
    expect(types.at(-1)).toBe('agent_end')
  })

  it('shows the change that a call would make, and nothing of a denied file', async () => {
    const root = directory()
    const call = (file_path: string) => ({ name: 'write', args: { file_path, content: 'new\n' } })
    const model = scriptedModel([{ toolCalls: [call('a.txt'), call('private.txt')] }, 'Done.'])
    const server = await startServer({
      workspaces: [root],
      session: { model, permissionPolicy: { deny: ['read(private.txt)'] } },
    })
    for (const name of ['a.txt', 'private.txt']) writeFileSync(join(root, name), `old text of ${name}\n`)
    const { sessionId } = (await server.call('POST', '/v1/sessions', {})).body
    await server.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Write.' })
    const shown = new Map<string, string | undefined>()
    for (const name of ['a.txt', 'private.txt']) {
      const path = `/v1/sessions/${sessionId}/approvals`
      const waiting = async () => {
        const { approvals } = (await server.call('GET', path)).body
        for (const { callId, args, diff } of approvals)
          if (args.file_path === name) {
            shown.set(name, diff)
            return String(callId)
          }
        throw new Error('not asked yet')
      }
      const callId = await vi.waitFor(waiting, { timeout: 60_000 })
      await server.call('POST', `${path}/${callId}`, { decision: 'once' })
    }
    expect(shown.get('a.txt')).toContain('old text of a.txt')
    expect(shown.get('private.txt')).toBeUndefined()

    const done = async () => {
      const { changes } = (await server.call('GET', `/v1/sessions/${sessionId}/changes?diff=true`)).body
      expect(changes).toHaveLength(2)
      return changes as { path: string; diff?: string }[]
    }
    const changes = await vi.waitFor(done, { timeout: 60_000 })
    const diffs = new Map(changes.map(({ path, diff }) => [basename(path), diff]))
    expect(diffs.get('a.txt')).toContain('old text of a.txt')
    expect(diffs.get('private.txt')).toBeUndefined()
  })

  it('sends a question of the model to the client and accepts its answers', async () => {
    const questions = [{ question: 'Which color?', options: [{ label: 'red' }, { label: 'blue' }] }]
    const { call, url } = await startServer({
      session: {
        mode: 'full',
        model: scriptedModel([{ toolCalls: [{ name: 'question', args: { questions } }] }, 'Blue it is.']),
      },
    })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const { runId } = (await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Paint.' })).body
    const path = `/v1/sessions/${sessionId}/questions`
    await vi.waitFor(async () => expect((await call('GET', path)).body.questions).toHaveLength(1), {
      timeout: 60_000,
    })
    const [question] = (await call('GET', path)).body.questions
    expect(question.questions[0].question).toBe('Which color?')
    expect((await call('POST', `${path}/${question.questionId}`, { answers: [] })).status).toBe(400)
    expect((await call('POST', `${path}/${question.questionId}`, { answers: [['blue']] })).status).toBe(200)
    expect((await call('POST', `${path}/${question.questionId}`, { answers: [['red']] })).status).toBe(409)
    const events = await readEvents(url, `/v1/sessions/${sessionId}/runs/${runId}/events`)
    expect(events.find(({ event }) => event.type === 'tool_end')?.event.toolOutput).toContain('blue')
  })

  it('starts one run for one idempotency key', async () => {
    const { call } = await startServer({ session: { model: scriptedModel(['One.', 'Two.']) } })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const path = `/v1/sessions/${sessionId}/runs`
    const key = { 'idempotency-key': 'a-key' }
    const first = await call('POST', path, { prompt: 'Count.' }, key)
    const second = await call('POST', path, { prompt: 'Count.' }, key)
    expect([first.status, second.status]).toEqual([202, 202])
    expect(second.body.runId).toBe(first.body.runId)
    const attachments = [{ data: 'aGVsbG8=', mediaType: 'text/plain' }]
    for (const other of [
      { prompt: 'Another.' },
      { prompt: 'Count.', attachments },
      { prompt: 'Count.', metadata: { a: 1 } },
    ])
      expect(await call('POST', path, other, key)).toMatchObject({
        status: 422,
        body: { code: 'idempotency_key_reused' },
      })
    const another = { 'idempotency-key': 'another-key' }
    const both = await Promise.all([1, 2, 3].map(() => call('POST', path, { prompt: 'Once.' }, another)))
    expect(new Set(both.map(({ body }) => body.runId)).size).toBe(1)
    expect((await call('GET', path)).body.runs).toHaveLength(2)
  })

  it('continues a run that waits for an approval in another process, from the same number', async () => {
    const store = new MemorySessionStore()
    const workspaces = [directory()]
    const first = await startServer({
      store,
      workspaces,
      session: { model: scriptedModel(writing.slice(0, 1)) },
    })
    const { sessionId } = (await first.call('POST', '/v1/sessions', {})).body
    const { runId } = (await first.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Write.' })).body
    const path = `/v1/sessions/${sessionId}/runs/${runId}/events`
    const approvals = `/v1/sessions/${sessionId}/approvals`
    const before = readEvents(first.url, path)
    await vi.waitFor(
      async () => expect((await first.call('GET', approvals)).body.approvals).toHaveLength(1),
      { timeout: 60_000 },
    )
    await first.stop()
    const seen = await before
    expect(seen.at(-1)?.event.type).toBe('confirmation_required')

    const second = await startServer({
      store,
      workspaces,
      session: { model: scriptedModel(writing.slice(1)) },
    })
    const [approval] = (await second.call('GET', approvals)).body.approvals
    expect(approval).toMatchObject({ callId: 'call-1', fromBefore: true })
    const answered = await second.call('POST', `${approvals}/call-1`, { decision: 'once' })
    expect(answered).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    const rest = await readEvents(second.url, path, { from: seen.at(-1)?.sequence ?? 0 })
    expect(rest.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'The file is written.' } })
    const numbers = [...seen, ...rest].map(({ sequence }) => sequence ?? 0)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect((await second.call('POST', `${approvals}/call-1`, { decision: 'once' })).status).toBe(409)
    const resumed = await second.call('POST', `/v1/sessions/${sessionId}/runs/${runId}/resume`)
    expect(resumed).toMatchObject({ status: 202, body: { runId: answered.body.runId } })
  })

  it('serves history, changes with diffs, undo, tools, explain, usage, traces, todos and MCP status', async () => {
    const { call, url, workspace } = await startServer({
      session: { mode: 'full', model: scriptedModel([...writing, 'Again.']) },
    })
    writeFileSync(join(workspace, 'a.txt'), 'before\n')
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const base = `/v1/sessions/${sessionId}`
    const { runId } = (await call('POST', `${base}/messages`, { text: 'Write.' })).body
    await readEvents(url, `${base}/runs/${runId}/events`)
    const { changes } = (await call('GET', `${base}/changes?diff=true`)).body
    expect(changes).toMatchObject([
      { path: 'a.txt', kind: 'modified', diff: expect.stringContaining('+hello') },
    ])
    expect((await call('POST', `${base}/undo`, { runId })).body.restored).toEqual(['a.txt'])
    expect(
      (await call('GET', `${base}/tools`)).body.tools.map((tool: { name: string }) => tool.name),
    ).toContain('read')
    expect(await call('POST', `${base}/tools/read`, { args: { file_path: 'a.txt' } })).toMatchObject({
      status: 403,
      body: { code: 'host_tool_disabled' },
    })
    const explained = await call('POST', `${base}/permissions/explain`, {
      toolName: 'read',
      args: { file_path: 'a.txt' },
    })
    expect(explained).toMatchObject({ status: 200, body: { action: 'allow' } })
    expect((await call('GET', `${base}/usage`)).body.usage.totalTokens).toBeGreaterThan(0)
    expect((await call('GET', `${base}/traces`)).body.traces[0]).toMatchObject({
      name: 'write',
      success: true,
    })
    expect((await call('GET', `${base}/todos`)).body.todos).toEqual([])
    expect((await call('GET', `${base}/mcp`)).body.servers).toEqual([])
    const [message] = (await call('GET', `${base}/messages`)).body.messages
    expect((await call('POST', `${base}/rewind`, { messageId: message.id })).body).toMatchObject({
      prompt: 'Write.',
    })
    expect((await call('POST', `${base}/unrewind`)).status).toBe(200)
    expect((await call('PATCH', base, { title: 'Other', mode: 'plan' })).body).toMatchObject({
      title: 'Other',
      mode: 'plan',
    })
    const fork = await call('POST', `${base}/fork`, {})
    expect(fork.status).toBe(201)
    const exported = await call('GET', `${base}/export`)
    expect(exported.status).toBe(200)
    const lines = String(exported.body).trim().split('\n')
    const deleted = await call('DELETE', base)
    expect(deleted.status).toBe(204)
    expect((await call('GET', base)).status).toBe(404)
    const imported = await call('POST', '/v1/sessions/import', { lines })
    expect(imported).toMatchObject({ status: 201, body: { title: expect.any(String) } })
    expect(
      (await call('GET', `/v1/sessions/${imported.body.sessionId}/history`)).body.history.length,
    ).toBeGreaterThan(2)
    expect((await call('GET', '/metrics')).body).toContain('capstan_runs_ended_total{status="completed"} 1')
  })

  it('multiplexes the events of all sessions, and resumes them from the last id', async () => {
    const { call, url } = await startServer({
      session: { model: scriptedModel(['One two.', 'Three four.']) },
    })
    const ids: string[] = []
    const ends = (events: readonly AllEvent[]): number =>
      events.filter(({ data }) => data.includes('"agent_end"')).length
    const reading = readAllEvents(url, undefined, (events) => ends(events) === 2)
    for (const prompt of ['a', 'b']) {
      const { sessionId } = (await call('POST', '/v1/sessions', {})).body
      ids.push(sessionId)
      await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt })
    }
    const all = await reading
    const seen = new Set(all.map(({ data }) => JSON.parse(data).sessionId))
    expect([...seen].sort()).toEqual([...ids].sort())
    for (const cut of [0, Math.floor(all.length / 2)]) {
      const missed = all.slice(cut + 1)
      const resumed = await readAllEvents(url, all[cut]?.id, (events) => events.length === missed.length)
      expect(resumed.map(({ data }) => data).sort()).toEqual(missed.map(({ data }) => data).sort())
    }
  })

  it('cleans the text of attachments and rejects content that does not match its type', async () => {
    const model = scriptedModel(['Read.', 'Seen.'])
    const { call, url } = await startServer({ session: { model }, limits: { maxAttachments: 2 } })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const path = `/v1/sessions/${sessionId}/messages`
    const hidden = String.fromCodePoint(0xe0041, 0x202e, 0x200b, 0x1b)
    const data = Buffer.from(`Visible${hidden} text.`).toString('base64')
    const file = { data, mediaType: 'text/Markdown', name: `a${hidden}.md` }
    const { runId } = (await call('POST', path, { text: 'Read.', attachments: [file] })).body
    await readEvents(url, `/v1/sessions/${sessionId}/runs/${runId}/events`)
    expect(model.requests[0]?.chatHistory.at(-1)?.content).toMatchObject([
      { type: 'text', text: 'Read.' },
      { type: 'document', data: 'Visible text.', mediaType: 'text/markdown', name: 'a.md' },
    ])
    const png = { data: 'aGVsbG8=', mediaType: 'image/png' }
    const latin = { data: Buffer.from([0xe9, 0x20]).toString('base64'), mediaType: 'text/plain' }
    for (const attachments of [[png], [latin], [file, file, file], [{ ...file, data: '%%' }]])
      expect((await call('POST', path, { text: 'Look.', attachments })).status).toBe(400)
    const parts = [png, png, png].map((one) => ({ type: 'file', url: `data:image/png;base64,${one.data}` }))
    const chat = { id: 'files', messages: [{ id: 'm', role: 'user', parts }] }
    expect((await call('POST', '/v1/chat', chat)).status).toBe(400)
  })
})
