import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AskRequest } from '../../src/loop/ask.js'
import { FixedClock } from '../../src/loop/host-env.js'
import { toolKinds } from '../../src/tool/contract.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { calls, collect, eventsOf, ofType, openSession, until } from './open-session.js'

const labels = { tenantId: 'acme', principal: 'bot', agentTemplateId: 'ci-7', correlationId: 'trace-1' }

describe('every trace event', () => {
  it('has the caller and the time: labels, session, run and time', async () => {
    const { session } = await openSession(
      [calls(['read', { file_path: 'a.txt' }], ['read', { file_path: 'none.txt' }], ['nothing', {}]), 'done'],
      { ...labels, sessionId: 'traced', hostEnv: { clock: new FixedClock(5_000) } },
      { 'a.txt': 'a' },
    )
    const { runId } = await session.send('look')
    await session.readFile('a.txt')
    const trace = session.traceEvents()
    expect(trace).toHaveLength(4)
    for (const event of trace)
      expect(event).toMatchObject({ ...labels, sessionId: 'traced', timestampMs: 5_000 })
    expect(trace.map((event) => event.runId)).toEqual([runId, runId, runId, 'host'])
  })

  it('has the run of a direct call that is made while one is active, and no labels if there are none', async () => {
    const { session } = await openSession(
      [calls(['bash', { command: 'until [ -e go ]; do sleep 0.05; done' }]), 'done'],
      {
        permissionPolicy: { allow: ['bash(*)'] },
      },
    )
    const stream = await session.stream('wait')
    await until(stream, 'tool_execution_start')
    await session.bash('touch go')
    const events = await collect(stream)
    const { runId } = ofType(events, 'agent_end')[0]?.result ?? {}
    expect(session.traceEvents().map((event) => event.runId)).toEqual([runId, runId])
    expect(session.traceEvents()[0]).not.toHaveProperty('tenantId')
  })
})

describe('kind and title', () => {
  it('are in every definition', async () => {
    const own = createJsonTool({
      name: 'fetch_weather',
      title: 'Weather report',
      kind: 'fetch',
      description: 'Gives the weather.',
      parameters: { type: 'object', properties: {} },
      execute: () => 'sun',
    })
    const plain = createJsonTool({
      name: 'countWords',
      description: 'Counts.',
      parameters: { type: 'object', properties: {} },
      execute: () => 0,
    })
    const { session, server } = await openSession(['ok'], { tools: [own, plain] })
    const definitions = new Map(session.toolDefinitions().map((definition) => [definition.name, definition]))
    expect(definitions.get('read')).toMatchObject({ kind: 'read', title: 'Read' })
    expect(definitions.get('web_fetch')).toMatchObject({ kind: 'fetch', title: 'Web fetch' })
    expect(definitions.get('bash')).toMatchObject({ kind: 'execute', title: 'Bash' })
    expect(definitions.get('fetch_weather')).toMatchObject({ kind: 'fetch', title: 'Weather report' })
    expect(definitions.get('countWords')).toMatchObject({ kind: 'other', title: 'Count words' })
    expect(definitions.size).toBe(session.toolNames().length)
    for (const { kind, title } of definitions.values()) {
      expect(toolKinds).toContain(kind)
      expect(title).toMatch(/^\S.*\S$/)
    }
    // A model has no use for them.
    await session.send('hi')
    expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/Weather report|"kind":|"title":"/)
  })

  it('are in the events of a call, with the paths that it touches', async () => {
    const { session, root } = await openSession(
      [
        calls(['edit', { file_path: 'sub/a.txt', old_string: 'a', new_string: 'b' }, 'one']),
        calls(['write', { file_path: '.env', content: 'x' }, 'two'], ['nothing', {}, 'three']),
        calls(['bash', { command: 'cat sub/a.txt' }, 'four']),
        'done',
      ],
      { permissionPolicy: { allow: ['edit(*)', 'bash(*)'], deny: ['write(.env)'] } },
      { 'sub/a.txt': 'a' },
    )
    const events = await eventsOf(session, 'go')
    const of = (id: string) =>
      events.filter((event) => event.toolId === id && event.type !== 'tool_input_delta')
    const file = join(root, 'sub/a.txt')
    expect(of('one')).toMatchObject([
      { type: 'tool_start', kind: 'edit', title: 'Edit' },
      { type: 'tool_execution_start', kind: 'edit', title: 'Edit', paths: [file] },
      { type: 'tool_end', isError: false, kind: 'edit', title: 'Edit', paths: [file] },
    ])
    expect(of('two').slice(1)).toMatchObject([
      { type: 'tool_execution_start', kind: 'edit', paths: [join(root, '.env')] },
      { type: 'permission_denied', kind: 'edit', title: 'Write', paths: [join(root, '.env')] },
      { type: 'tool_end', isError: true, kind: 'edit', paths: [join(root, '.env')] },
    ])
    // Of a tool that there is not, nothing is known.
    for (const event of of('three'))
      for (const name of ['kind', 'title', 'paths']) expect(event).not.toHaveProperty(name)
    expect(of('four').at(-1)).toMatchObject({
      type: 'tool_end',
      kind: 'execute',
      paths: expect.arrayContaining([file]),
    })
    const kept = (await session.runEvents((await session.runs())[0]?.id ?? '')).map(({ event }) => event)
    expect(kept).toEqual(events)
  })

  it('do not stop a call whose arguments name no valid paths', async () => {
    const { session } = await openSession([
      calls(['read', { file_path: 7 }, 'a'], ['read', { file_path: '\0' }, 'b'], ['read', [], 'c']),
      'done',
    ])
    const events = await eventsOf(session, 'go')
    expect(ofType(events, 'tool_end')).toHaveLength(3)
    expect(events.at(-1)?.type).toBe('agent_end')
  })
})

describe('confirmation_required', () => {
  it('has the same suggested rule as onAsk', async () => {
    const asked: AskRequest[] = []
    const { session, root } = await openSession(
      [
        calls(['bash', { command: 'npm test' }]),
        calls(['write', { file_path: 'a.txt', content: 'x' }]),
        'done',
      ],
      {
        confirmationPolicy: { enabled: true },
        onAsk: (request) => {
          asked.push(request)
          return { decision: 'reject' }
        },
      },
    )
    const required = ofType(await eventsOf(session, 'go'), 'confirmation_required')
    expect(required).toHaveLength(2)
    expect(required.map(({ suggestion }) => suggestion)).toEqual(asked.map(({ suggestion }) => suggestion))
    expect(required[0]?.suggestion?.[0]).toMatchObject({ action: 'allow' })
    expect(required).toMatchObject([
      { kind: 'execute', title: 'Bash' },
      { kind: 'edit', title: 'Write', paths: [join(root, 'a.txt')] },
    ])
  })

  it('has none when no rule is safe to offer', async () => {
    const { session } = await openSession([calls(['bash', { command: 'sh -c "$(cat a)"' }]), 'done'], {
      confirmationPolicy: { enabled: true },
      onAsk: ({ suggestion }) => ({ decision: 'reject', message: String(suggestion === undefined) }),
    })
    const events = await eventsOf(session, 'go')
    const [required] = ofType(events, 'confirmation_required')
    const offered = ofType(events, 'tool_end')[0]?.toolOutput.includes('false')
    expect(required?.suggestion !== undefined).toBe(offered)
  })
})
