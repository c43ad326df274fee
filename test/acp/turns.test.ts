import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isRecord } from '../../src/tool/json.js'
import { openPlace } from '../cli/drive.js'
import {
  type AcpPeer,
  type ClientHandler,
  newSession,
  openAcp,
  promptOf,
  textOf,
  type Wire,
} from './drive.js'

const write = (file_path: string, id?: string) => ({
  name: 'write',
  args: { file_path, content: 'ahoy\n' },
  ...(id !== undefined && { id }),
})
const select =
  (optionId: string): ClientHandler =>
  () => ({ outcome: { outcome: 'selected', optionId } })

/** What the agent asked its client. */
function asked(peer: AcpPeer, method: string): Wire[] {
  return peer.received.flatMap((one) =>
    one['method'] === method && isRecord(one['params']) ? [one['params']] : [],
  )
}

function callsIn(updates: readonly Wire[], kind: string): Wire[] {
  return updates.filter(({ sessionUpdate }) => sessionUpdate === kind)
}

describe('a turn over the protocol', () => {
  it('asks before a write with the change and the rule, and shows the change', async () => {
    const peer = await openAcp({
      script: [{ toolCalls: [write('log.txt', 'call-1')] }, 'Written.'],
      files: { 'log.txt': 'old\n' },
      onRequest: select('once'),
    })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, 'Write.'))
    const path = join(peer.place.root, 'log.txt')
    const diff = { type: 'diff', path, oldText: 'old\n', newText: 'ahoy\n' }
    expect(asked(peer, 'session/request_permission')).toMatchObject([
      {
        sessionId,
        toolCall: {
          toolCallId: 'call-1',
          kind: 'edit',
          rawInput: write('log.txt').args,
          content: [diff, {}],
        },
        options: [
          { optionId: 'once', kind: 'allow_once' },
          { optionId: 'always', kind: 'allow_always', name: 'Always allow write(log.txt)' },
          { optionId: 'reject', kind: 'reject_once' },
        ],
      },
    ])
    const updates = callsIn(peer.updates(sessionId), 'tool_call_update')
    expect(updates.at(-1)).toMatchObject({ status: 'completed', content: [diff], locations: [{ path }] })
    await expect(readFile(path, 'utf8')).resolves.toBe('ahoy\n')
    expect(peer.problems).toEqual([])
  })

  it('saves a rule with "always", and does not ask again', async () => {
    const peer = await openAcp({
      script: [{ toolCalls: [write('a.txt')] }, 'One.', { toolCalls: [write('a.txt')] }, 'Two.'],
      onRequest: select('always'),
    })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, 'Write.'))
    await peer.request('session/prompt', promptOf(sessionId, 'Write again.'))
    expect(asked(peer, 'session/request_permission')).toHaveLength(1)
  })

  it.each([
    ['a rejection', select('reject')],
    ['an option that was not offered', select('full-access')],
    ['an answer that is none', () => ({ outcome: 'yes' })],
    [
      'an error of the client',
      () => {
        throw new Error('no')
      },
    ],
  ])('refuses the call after %s, and the turn continues', async (_, onRequest) => {
    const peer = await openAcp({ script: [{ toolCalls: [write('a.txt')] }, 'Not written.'], onRequest })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Write.'))).resolves.toEqual({
      stopReason: 'end_turn',
    })
    expect(callsIn(peer.updates(sessionId), 'tool_call_update').at(-1)).toMatchObject({ status: 'failed' })
    await expect(readFile(join(peer.place.root, 'a.txt'))).rejects.toThrow()
    expect(peer.problems).toEqual([])
  })

  it('ends the turn when the user cancels a question: no later call is asked about or made', async () => {
    const peer = await openAcp({
      script: [{ toolCalls: [write('a.txt'), write('b.txt'), write('c.txt')] }, 'Never said.'],
      onRequest: () => ({ outcome: { outcome: 'cancelled' } }),
    })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Write.'))).resolves.toEqual({
      stopReason: 'cancelled',
    })
    expect(asked(peer, 'session/request_permission')).toHaveLength(1)
    expect(textOf(peer.updates(sessionId))).toBe('')
    const open = new Set<unknown>()
    for (const { sessionUpdate, toolCallId, status } of peer.updates(sessionId)) {
      if (sessionUpdate === 'tool_call') open.add(toolCallId)
      if (status === 'failed' || status === 'completed') open.delete(toolCallId)
    }
    expect([...open]).toEqual([])
    for (const name of ['a.txt', 'b.txt', 'c.txt'])
      await expect(readFile(join(peer.place.root, name))).rejects.toThrow()
    expect(peer.problems).toEqual([])
  })

  it('withdraws its question when the turn is cancelled meanwhile, and accepts the next prompt', async () => {
    const peer = await openAcp({
      script: [{ toolCalls: [write('a.txt')] }, 'Next.'],
      onRequest: () => new Promise(() => undefined),
    })
    const sessionId = await newSession(peer)
    const turn = peer.request('session/prompt', promptOf(sessionId, 'Write.'))
    const question = await peer.until(({ method }) => method === 'session/request_permission')
    peer.notify('session/cancel', { sessionId })
    await expect(turn).resolves.toEqual({ stopReason: 'cancelled' })
    expect(asked(peer, '$/cancel_request')).toEqual([{ requestId: question['id'] }])
    await expect(peer.request('session/prompt', promptOf(sessionId, 'And now?'))).resolves.toEqual({
      stopReason: 'end_turn',
    })
    expect(peer.problems).toEqual([])
  })

  it('stops a running command, and accepts the next prompt', async () => {
    const bash = { name: 'bash', args: { command: 'echo begun; sleep 600' } }
    const peer = await openAcp({ script: [{ toolCalls: [bash] }, 'Next.'], flags: ['--mode', 'full'] })
    const sessionId = await newSession(peer)
    const turn = peer.request('session/prompt', promptOf(sessionId, 'Sleep.'))
    await peer.until((message) => JSON.stringify(message).includes('begun\\n'))
    peer.notify('session/cancel', { sessionId })
    await expect(turn).resolves.toEqual({ stopReason: 'cancelled' })
    await expect(peer.request('session/prompt', promptOf(sessionId, 'And now?'))).resolves.toEqual({
      stopReason: 'end_turn',
    })
    expect(peer.problems).toEqual([])
  })

  it('sends reasoning, the plan, the usage and the title', async () => {
    const todos = [
      { content: 'Look', status: 'completed' },
      { content: 'Steer', status: 'in_progress' },
    ]
    const peer = await openAcp({
      script: [{ reasoning: 'Where to?', toolCalls: [{ name: 'todo', args: { todos } }] }, 'North.'],
    })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, 'Where do we go?'))
    const updates = peer.updates(sessionId)
    expect(textOf(updates, 'agent_thought_chunk')).toBe('Where to?')
    expect(callsIn(updates, 'plan').at(-1)).toMatchObject({
      entries: todos.map((todo) => ({ ...todo, priority: 'medium' })),
    })
    expect(callsIn(updates, 'usage_update').at(-1)).toMatchObject({
      used: expect.any(Number),
      size: expect.any(Number),
      cost: { currency: 'USD' },
    })
    await peer.until((message) => JSON.stringify(message).includes('session_info_update'))
    expect(callsIn(peer.updates(sessionId), 'session_info_update')).toMatchObject([
      { title: 'Where do we go?' },
    ])
    expect(peer.problems).toEqual([])
  })

  it.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ] as const)('ends with the reason of the model: %s is %s', async (finish, stopReason) => {
    const peer = await openAcp({ script: () => ({ text: 'Half an', finish }) })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Speak.'))).resolves.toEqual({
      stopReason,
    })
  })

  it('ends with max_turn_requests at the limit of rounds', async () => {
    const peer = await openAcp({
      script: () => ({ toolCalls: [{ name: 'ls', args: { path: '.' } }] }),
      flags: ['--max-rounds', '2'],
    })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Look.'))).resolves.toEqual({
      stopReason: 'max_turn_requests',
    })
  })

  it('answers with an error that has a code when the model refuses the key', async () => {
    const peer = await openAcp({ script: [{ status: 401, message: 'wrong key' }] })
    const sessionId = await newSession(peer)
    await expect(peer.request('session/prompt', promptOf(sessionId, 'Speak.'))).rejects.toMatchObject({
      code: -32000,
      data: { code: 'model_auth' },
    })
    expect(peer.problems).toEqual([])
  })

  it('answers a command of the session without the model', async () => {
    const peer = await openAcp({ script: [] })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, '/help'))
    expect(textOf(peer.updates(sessionId))).toContain('/compact')
  })

  it('shows the questions of the model to the user as a form', async () => {
    const questions = [
      { question: 'Which way?', header: 'Way', options: [{ label: 'North' }, { label: 'South' }] },
      { question: 'How fast?' },
    ]
    const peer = await openAcp({
      script: [{ toolCalls: [{ name: 'question', args: { questions } }] }, 'Aye.'],
      onRequest: () => ({ action: 'accept', content: { answer_1: 'South', answer_2: 'Twelve knots' } }),
    })
    const sessionId = await newSession(peer, { elicitation: { form: {} } })
    await peer.request('session/prompt', promptOf(sessionId, 'Ask me.'))
    expect(asked(peer, 'elicitation/create')).toMatchObject([{ mode: 'form', sessionId }])
    expect(JSON.stringify((await peer.modelRequest(1))?.body)).toMatch(/South.*Twelve knots/)
    expect(peer.problems).toEqual([])
  })

  it('sends the client no request that it did not advertise', async () => {
    const question = { name: 'question', args: { questions: [{ question: 'Which way?' }] } }
    const bash = { name: 'bash', args: { command: 'cat a.txt' } }
    const peer = await openAcp({
      script: [{ toolCalls: [question, bash, { name: 'read', args: { file_path: 'a.txt' } }] }, 'Aye.'],
      flags: ['--mode', 'full'],
      files: { 'a.txt': 'x' },
    })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, 'Work.'))
    const methods = new Set(peer.received.flatMap(({ method }) => (method === undefined ? [] : [method])))
    expect([...methods]).toEqual(['session/update'])
    const kinds = new Set(peer.updates().map(({ sessionUpdate }) => sessionUpdate))
    expect([...kinds].filter((kind) => kind === 'notice' || kind === 'compaction_update')).toEqual([])
    expect(JSON.stringify(peer.updates())).not.toContain('terminal')
  })

  it('sends images and embedded files to the model, and rejects audio', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(['Seen.'])
    const peer = await openAcp({ place, flags })
    const sessionId = await newSession(peer)
    const uri = `file://${join(place.root, 'with space.txt').replaceAll(' ', '%20')}`
    await peer.request('session/prompt', {
      sessionId,
      prompt: [
        { type: 'text', text: 'Look at ' },
        { type: 'resource_link', uri: `file://${place.root}/chart.txt`, name: 'chart' },
        { type: 'resource', resource: { uri, text: 'soundings', mimeType: 'text/plain' } },
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
      ],
    })
    const body = JSON.stringify(server.requests[0]?.body)
    expect(body).toContain(`Look at ${place.root}/chart.txt`)
    expect(body).toContain('with space.txt')
    expect(body).toContain('soundings')
    expect(body).toContain('iVBORw0KGgo=')
    const prompt = [{ type: 'audio', data: '', mimeType: 'audio/wav' }]
    await expect(peer.request('session/prompt', { sessionId, prompt })).rejects.toMatchObject({
      code: -32602,
    })
  })

  it('does not offer a rule that cannot be shown in full', async () => {
    const peer = await openAcp({
      script: [{ toolCalls: [write('safe\u202Etxt.sh')] }, 'Not written.'],
      onRequest: select('always'),
    })
    const sessionId = await newSession(peer)
    await peer.request('session/prompt', promptOf(sessionId, 'Write.'))
    const [question] = asked(peer, 'session/request_permission')
    expect(question).toMatchObject({ toolCall: { title: 'Write: safe txt.sh' } })
    expect(question?.['options']).toMatchObject([{ kind: 'allow_once' }, { kind: 'reject_once' }])
    expect(callsIn(peer.updates(sessionId), 'tool_call_update').at(-1)).toMatchObject({ status: 'failed' })
  })

  it('does not affect the active prompt when a queued one is cancelled', async () => {
    let answer: (outcome: object) => void = () => undefined
    const peer = await openAcp({
      script: [{ toolCalls: [write('a.txt', 'call-1')] }, 'Written.'],
      onRequest: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const sessionId = await newSession(peer)
    const active = peer.request('session/prompt', promptOf(sessionId, 'Write.'))
    await peer.until(({ method }) => method === 'session/request_permission')
    const waiting = peer.request('session/prompt', promptOf(sessionId, 'Later.'))
    // initialize, session/new and the active prompt have the ids before it.
    peer.notify('$/cancel_request', { requestId: 4 })
    await expect(waiting).resolves.toEqual({ stopReason: 'cancelled' })
    const callUpdates = (): unknown[] =>
      callsIn(peer.updates(sessionId), 'tool_call_update').map(({ status }) => status)
    expect(callUpdates()).toEqual(['in_progress'])
    answer({ outcome: { outcome: 'selected', optionId: 'once' } })
    await expect(active).resolves.toEqual({ stopReason: 'end_turn' })
    expect(callUpdates().at(-1)).toBe('completed')
  })

  it('sends notices and compactions to clients that advertise them', async () => {
    const peer = await openAcp({ script: () => 'Aye, and a long story of the sea.' })
    const sessionId = await newSession(peer, { session: { compaction: {}, notices: {} } })
    for (const text of ['One.', 'Two.', 'Three.', 'Four.', '/compact'])
      await peer.request('session/prompt', promptOf(sessionId, text))
    expect(callsIn(peer.updates(sessionId), 'compaction_update')).toMatchObject([{ status: 'completed' }])
    expect(peer.problems).toEqual([])
  })
})

describe('the settings of the client', () => {
  // The library of MCP is loaded here, which takes long on a busy machine.
  it('can add an MCP server, whose calls follow the rules', { timeout: 300_000 }, async () => {
    const server = fileURLToPath(new URL('../mcp/world-server.mjs', import.meta.url))
    const peer = await openAcp({
      script: [{ toolCalls: [{ name: 'mcp__world__look', args: {} }] }, 'Looked.'],
      onRequest: select('once'),
    })
    await peer.request('initialize', { protocolVersion: 1 })
    const world = {
      name: 'world',
      command: process.execPath,
      args: [server],
      env: [{ name: 'FROM_EDITOR', value: 'yes' }],
    }
    const { sessionId } = await peer.request('session/new', { cwd: peer.place.root, mcpServers: [world] })
    await peer.request('session/prompt', promptOf(String(sessionId), 'Look.'))
    expect(asked(peer, 'session/request_permission')).toMatchObject([{ toolCall: { title: 'Look (world)' } }])
    expect(JSON.stringify((await peer.modelRequest(1))?.body)).toContain('FROM_EDITOR')
    const bad = { cwd: peer.place.root, mcpServers: [{ name: 'x', type: 'acp', id: '1' }] }
    await expect(peer.request('session/new', bad)).rejects.toMatchObject({ code: -32602 })
    expect(peer.problems).toEqual([])
  })

  it('can add a directory to the workspace', async () => {
    const other = await openPlace({ 'chart.txt': 'soundings' })
    const read = { name: 'read', args: { file_path: join(other.root, 'chart.txt') } }
    const peer = await openAcp({ script: [{ toolCalls: [read] }, 'Read.'] })
    await peer.request('initialize', { protocolVersion: 1 })
    const { sessionId } = await peer.request('session/new', {
      cwd: peer.place.root,
      additionalDirectories: [other.root],
      mcpServers: [],
    })
    await peer.request('session/prompt', promptOf(String(sessionId), 'Read.'))
    expect(asked(peer, 'session/request_permission')).toEqual([])
    expect(JSON.stringify((await peer.modelRequest(1))?.body)).toContain('soundings')
  })

  it('can choose the model', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(['One.', 'Two.'])
    const config = flags[1] ?? ''
    await writeFile(
      config,
      (await readFile(config, 'utf8')).replace('models "m"', 'models "n" { }\n  models "m"'),
    )
    const peer = await openAcp({ place, flags })
    const sessionId = await newSession(peer)
    const option = { sessionId, configId: 'model', value: 'test/n' }
    await expect(peer.request('session/set_config_option', option)).resolves.toMatchObject({
      configOptions: [{ id: 'mode' }, { id: 'model', currentValue: 'test/n' }],
    })
    await peer.request('session/prompt', promptOf(sessionId, 'Speak.'))
    expect(server.requests[0]?.body).toMatchObject({ model: 'n' })
    await peer.end()
    // It is that of the session, in the next process too.
    const next = await openAcp({ place, flags })
    await next.request('initialize', { protocolVersion: 1 })
    await expect(next.request('session/resume', { sessionId, cwd: place.root })).resolves.toMatchObject({
      configOptions: [{ id: 'mode' }, { id: 'model', currentValue: 'test/n' }],
    })
  })

  it('can set the reasoning effort of the model', async () => {
    const place = await openPlace()
    const { server, flags } = await place.model(['Thought.'])
    await writeFile(
      flags[1] ?? '',
      `default_model = "anthropic/think"\nproviders "anthropic" {\n  api_key = "test-key"\n  base_url = "${server.url}/v1"\n  models "think" { reasoning = true }\n}\n`,
    )
    const peer = await openAcp({ place, flags })
    const sessionId = await newSession(peer)
    const option = { sessionId, configId: 'thought_level', value: 'low' }
    await expect(peer.request('session/set_config_option', option)).resolves.toMatchObject({
      configOptions: [{ id: 'mode' }, { id: 'model' }, { id: 'thought_level', currentValue: 'low' }],
    })
    await peer.request('session/prompt', promptOf(sessionId, 'Think.'))
    expect(server.requests[0]?.body).toMatchObject({ thinking: { budget_tokens: 4_096 } })
    expect(peer.problems).toEqual([])
  })
})
