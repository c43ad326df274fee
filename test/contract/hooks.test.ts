import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { HookEvent, HookEventName } from '../../src/hooks/index.js'
import type { Session } from '../../src/session/session.js'
import { bash, bodyOf, calls, eventsOf, later, ofType, openSession, toolResults } from './open-session.js'

const write = (path: string) => calls(['write', { file_path: path, content: 'from the model' }])

function watchFor(session: Session, ...events: HookEventName[]): HookEvent[] {
  const seen: HookEvent[] = []
  for (const event of events)
    session.registerHook(`watch-${event}`, event, null, null, (payload) => void seen.push(payload))
  return seen
}

describe('hooks', () => {
  it('are registered, counted and removed as documented', async () => {
    const { session } = await openSession([])
    session.registerHook(
      'docs-observer',
      'pre_tool_use',
      { tool: 'bash' },
      { priority: 1, timeoutMs: 1000 },
      () => ({
        action: 'continue',
      }),
    )
    expect(session.hookCount()).toBe(1)
    expect(session.unregisterHook('docs-observer')).toBe(true)
    expect(session.unregisterHook('docs-observer')).toBe(false)
    expect(session.hookCount()).toBe(0)
  })

  it('reject an unknown event, with the nearest name', async () => {
    const { session } = await openSession([])
    expect(() => session.registerHook('x', 'pre_tol_use' as never, null, null, () => undefined)).toThrow(
      /Invalid hook event type: 'pre_tol_use'.*"pre_tool_use"/s,
    )
  })

  it('are rejected without a handler, however they are registered', async () => {
    const { session, agent, root } = await openSession([])
    const register = session.registerHook.bind(session) as (...args: unknown[]) => void
    for (const args of [
      ['x', 'pre_tool_use'],
      ['x', 'pre_tool_use', { tool: 'bash' }, {}, undefined],
      ['x', 'pre_tool_use', null, null, null],
    ])
      expect(() => register(...args)).toThrow('The hook "x" has no handler')
    expect(() => register('x', 'pre_tool_use', null, null, 'a command')).toThrow('is not a function')
    expect(session.hookCount()).toBe(0)
    for (const handler of [undefined, null, 'echo'])
      expect(() =>
        agent.session(root, { hooks: [{ id: 'x', event: 'pre_tool_use', handler }] as never }),
      ).toThrow(/hook "x"/)
  })

  it('block calls of the model and of the host alike', async () => {
    const { server, session, root } = await openSession([write('m.txt'), 'done'], { mode: 'full' })
    session.registerHook('no', 'pre_tool_use', { tool: 'write' }, null, () => ({
      action: 'block',
      reason: 'not here',
    }))
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('Blocked by a hook: not here')
    const direct = await session.writeFile('h.txt', 'from the host')
    expect(direct).toMatchObject({ exitCode: 1, output: expect.stringContaining('not here') })
    await expect(readFile(join(root, 'm.txt'))).rejects.toThrow()
    await expect(readFile(join(root, 'h.txt'))).rejects.toThrow()
    expect(session.hookStatus()).toMatchObject([{ id: 'no', runs: 2, blocks: 2, failures: 0 }])
  })

  it('block calls also when they are registered after a run of a session that has made calls', async () => {
    const { server, session, root } = await openSession(['hello', write('m.txt'), 'done'], { mode: 'full' })
    await session.tool('ls', { path: '.' })
    await session.send('hello')
    session.registerHook('no', 'pre_tool_use', null, null, () => ({ action: 'block', reason: 'not here' }))
    await session.send('x')
    expect(toolResults(server, 2)[0]).toContain('Blocked by a hook: not here')
    expect(await session.writeFile('h.txt', '')).toMatchObject({ exitCode: 1 })
    await expect(readFile(join(root, 'm.txt'))).rejects.toThrow()
  })

  it('stay removed after a run when they were options', async () => {
    const { session } = await openSession(['hello'], {
      hooks: [{ id: 'given', event: 'pre_prompt', handler: () => ({ action: 'block' as const }) }],
    })
    expect(session.unregisterHook('given')).toBe(true)
    await session.send('hello')
    expect(session.hookCount()).toBe(0)
  })

  it('block with a default message when they give no reason', async () => {
    const { session } = await openSession([])
    session.registerHook('no', 'pre_tool_use', null, null, () => ({ action: 'block' }))
    expect((await session.tool('ls')).output).toContain('Blocked by hook')
  })

  it('change the input, which is checked again', async () => {
    const { session, root } = await openSession([write('m.txt'), 'done'], { mode: 'full' })
    session.registerHook('elsewhere', 'pre_tool_use', { tool: 'write' }, null, ({ payload }) => ({
      action: 'continue',
      modified: { updatedInput: { ...(payload.args as object), file_path: 'changed.txt' } },
    }))
    await session.send('x')
    expect(await readFile(join(root, 'changed.txt'), 'utf8')).toBe('from the model')
    session.registerHook('elsewhere', 'pre_tool_use', null, null, () => ({
      action: 'continue',
      modified: { updatedInput: { file_path: 3 } },
    }))
    expect((await session.writeFile('a', 'b')).output).toMatch(/file_path|content/)
    session.registerHook('elsewhere', 'pre_tool_use', null, null, () => ({
      action: 'continue',
      modified: { updatedInput: { file_path: '../outside.txt', content: '' } },
    }))
    expect((await session.writeFile('a', 'b')).exitCode).toBe(1)
  })

  it('cannot bypass a rule by changing a call', async () => {
    const { server, session } = await openSession([bash('echo hi'), 'done'], {
      permissionPolicy: { allow: ['bash(echo *)'], deny: ['bash(rm *)'] },
    })
    session.registerHook('worse', 'pre_tool_use', null, null, () => ({
      action: 'continue',
      modified: { updatedInput: { command: 'rm x' } },
    }))
    await session.send('x')
    expect(toolResults(server, 1)[0]).toMatch(/Refused/)
  })

  it('run by priority, the lower first; skip skips the rest', async () => {
    const { session } = await openSession([])
    const order: string[] = []
    const note = (name: string, action: 'continue' | 'skip') => () => {
      order.push(name)
      return { action }
    }
    session.registerHook('c', 'pre_tool_use', null, { priority: 200 }, note('c', 'continue'))
    session.registerHook('b', 'pre_tool_use', null, null, note('b', 'skip'))
    session.registerHook('a', 'pre_tool_use', null, { priority: 1 }, note('a', 'continue'))
    expect((await session.tool('ls')).exitCode).toBe(0)
    expect(order).toEqual(['a', 'b'])
  })

  it('are called again when they request it', async () => {
    const { session } = await openSession([])
    let asked = 0
    session.registerHook('again', 'pre_tool_use', null, null, () =>
      ++asked < 3 ? { action: 'retry', delayMs: 1 } : { action: 'continue' },
    )
    expect((await session.tool('ls')).exitCode).toBe(0)
    expect(asked).toBe(3)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken guard')
      },
      /broken guard/,
    ],
    ['hangs', () => new Promise<never>(() => undefined), /did not answer within 30 ms/],
    ['answers nonsense', () => ({ action: 'maybe' }) as never, /"maybe"/],
    ['answers a string', () => 'continue' as never, /not an answer/],
  ])('that gate fail closed when one %s', async (_, handler, words) => {
    const { session } = await openSession([])
    session.registerHook('guard', 'pre_tool_use', null, { timeoutMs: 30 }, handler)
    const result = await session.tool('ls')
    expect(result.exitCode).toBe(1)
    expect(result.output).toMatch(words)
    expect(session.hookStatus()).toMatchObject([{ failures: 1, blocks: 1 }])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken watcher')
      },
      /broken watcher/,
    ],
    ['hangs', () => new Promise<never>(() => undefined), /did not answer within 30 ms/],
    ['answers nonsense', () => ({ action: 'stop' }) as never, /"stop"/],
    ['tries to block', () => ({ action: 'block', reason: 'x' }) as const, /only be observed/],
  ])('that observe are reported when one %s, and the run continues', async (_, handler, words) => {
    const { session } = await openSession([calls(['ls', {}]), 'done'])
    session.registerHook('watcher', 'post_tool_use', null, { timeoutMs: 30 }, handler)
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'tool_end')[0]?.exitCode).toBe(0)
    expect(events.at(-1)?.type).toBe('agent_end')
    expect(ofType(events, 'notice')).toMatchObject([
      { source: 'hook watcher', message: expect.stringMatching(words) },
    ])
  })

  it('can be given as an option', async () => {
    const { session } = await openSession([], {
      hooks: [
        { id: 'no', event: 'pre_tool_use', handler: () => ({ action: 'block', reason: 'from options' }) },
      ],
    })
    expect(session.hookCount()).toBe(1)
    expect((await session.tool('ls')).output).toContain('from options')
  })

  it('match by tool, path and command', async () => {
    const { session } = await openSession([], {}, { 'src/a.ts': '', 'b.ts': '' })
    const seen: unknown[] = []
    const note = ({ payload }: HookEvent<'pre_tool_use'>) => void seen.push(payload.args)
    session.registerHook('path', 'pre_tool_use', { pathPattern: 'src/**' }, null, note)
    session.registerHook('command', 'pre_tool_use', { commandPattern: '\\bpush\\b' }, null, note)
    await session.tool('read', { file_path: 'b.ts' })
    await session.tool('read', { file_path: 'src/a.ts' })
    await session.bash('echo push')
    await session.bash('echo pull')
    expect(seen).toEqual([{ file_path: 'src/a.ts' }, expect.objectContaining({ command: 'echo push' })])
  })
})

describe('hooks on prompts', () => {
  it('block one: the run fails, and no request is sent to the model', async () => {
    const { server, session } = await openSession(['never'])
    session.registerHook('guard', 'pre_prompt', null, null, () => ({
      action: 'block',
      reason: 'no secrets please',
    }))
    await expect(session.send('my password is x')).rejects.toThrow(/guard.*no secrets please/)
    expect(server.requests).toHaveLength(0)
    expect(session.history()).toEqual([])
  })

  it('fail closed when they throw', async () => {
    const { server, session } = await openSession(['never'])
    session.registerHook('guard', 'pre_prompt', null, null, () => {
      throw new Error('oops')
    })
    await expect(session.send('x')).rejects.toThrow(/oops/)
    expect(server.requests).toHaveLength(0)
  })

  it('replace one', async () => {
    const { server, session } = await openSession(['ok'])
    session.registerHook('rewrite', 'pre_prompt', null, null, ({ payload }) => ({
      action: 'continue',
      modified: { prompt: payload.prompt.replace('secret', '[removed]') },
    }))
    await session.send('the secret word')
    expect(bodyOf(server, 0).messages.at(-1)).toMatchObject({ content: 'the [removed] word' })
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('the secret word')
  })

  it('receive plans before and after they are made', async () => {
    const { session } = await openSession(
      [calls(['todo', { todos: [{ content: 'a', status: 'pending' }] }]), 'done'],
      { planningMode: 'enabled' },
    )
    const seen = watchFor(session, 'pre_planning', 'post_planning')
    await session.send('build it')
    expect(seen).toMatchObject([
      { eventType: 'pre_planning', payload: { prompt: 'build it' } },
      { eventType: 'post_planning', payload: { estimated_steps: 1, plan: [{ content: 'a' }] } },
    ])
    session.registerHook('guard', 'pre_planning', null, null, () => ({ action: 'block', reason: 'no plans' }))
    await expect(session.send('again')).rejects.toThrow(/no plans/)
  })
})

describe('the payloads of hooks', () => {
  it('of a whole run have labels, session and times', async () => {
    const { session, root } = await openSession(
      [calls(['ls', { path: '.' }, 'call-7']), { text: 'done', usage: { inputTokens: 3, outputTokens: 2 } }],
      { tenantId: 'acme', principal: 'bot', correlationId: 'trace-1', sessionId: 'named' },
    )
    const seen = watchFor(
      session,
      'session_start',
      'pre_prompt',
      'generate_start',
      'generate_end',
      'pre_tool_use',
      'post_tool_use',
      'post_response',
      'session_end',
    )
    await session.send('hello')
    await session.close()
    expect(seen.map(({ eventType }) => eventType)).toEqual([
      'session_start',
      'pre_prompt',
      'generate_start',
      'generate_end',
      'pre_tool_use',
      'post_tool_use',
      'generate_start',
      'generate_end',
      'post_response',
      'session_end',
    ])
    for (const event of seen) {
      expect(event).toMatchObject({
        event_type: event.eventType,
        labels: { tenantId: 'acme', principal: 'bot', correlationId: 'trace-1' },
        payload: { session_id: 'named' },
      })
      expect(event.timestampMs).toBeGreaterThan(0)
    }
    const payloads = seen.map(({ payload }) => payload)
    expect(payloads[0]).toMatchObject({ working_directory: root, resumed: false })
    expect(payloads[1]).toMatchObject({
      prompt: 'hello',
      message_count: 0,
      system_prompt: expect.stringContaining('<env>'),
    })
    expect(payloads[2]).toMatchObject({
      prompt: 'hello',
      model_provider: 'openai',
      model_name: 'docs-model',
      system_prompt: expect.stringContaining('<env>'),
      available_tools: expect.arrayContaining(['read', 'bash']),
    })
    expect(payloads[3]).toMatchObject({
      prompt: 'hello',
      model_provider: 'openai',
      model_name: 'docs-model',
      tool_calls: [{ id: 'call-7', name: 'ls' }],
    })
    expect(payloads[4]).toMatchObject({
      tool: 'ls',
      args: { path: '.' },
      working_directory: root,
      origin: 'model',
      recent_tools: [],
    })
    expect(payloads[5]).toMatchObject({
      tool: 'ls',
      result: { success: true, exit_code: 0, duration_ms: expect.any(Number) },
    })
    expect(payloads[7]).toMatchObject({
      response_text: 'done',
      tool_calls: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      duration_ms: expect.any(Number),
    })
    expect(payloads[8]).toMatchObject({
      response_text: 'done',
      tool_calls_count: 1,
      duration_ms: expect.any(Number),
    })
    expect(payloads[9]).toMatchObject({ reason: 'closed' })
  })

  it('of direct calls have their origin, and the session has started then', async () => {
    const { session } = await openSession([])
    const seen = watchFor(session, 'session_start', 'pre_tool_use')
    await session.ls()
    await session.ls()
    expect(seen).toMatchObject([
      { eventType: 'session_start' },
      { payload: { tool: 'ls', origin: 'host' } },
      { payload: { tool: 'ls', recent_tools: ['ls'] } },
    ])
  })

  it('of failures have their kind', async () => {
    const { session } = await openSession(
      [{ status: 400, message: 'broken' }, { stall: true }, { stall: true }],
      {
        maxExecutionTimeMs: 1_500,
      },
    )
    const seen = watchFor(session, 'on_error')
    await session.send('x').catch(() => undefined)
    expect(seen[0]).toMatchObject({
      payload: { error_type: 'llm_failure', error_message: expect.stringContaining('broken') },
    })
    await session.send('y').catch(() => undefined)
    expect(seen[1]).toMatchObject({ payload: { error_type: 'timeout' } })
  })

  it('of rate limits have the delay', async () => {
    const { session } = await openSession([
      { status: 429, headers: { 'retry-after-ms': '1', 'retry-after': '0' } },
      'ok',
    ])
    const seen = watchFor(session, 'on_rate_limit')
    await session.send('x')
    expect(seen).toMatchObject([
      {
        payload: {
          model_provider: 'openai',
          model_name: 'docs-model',
          attempt: 1,
          error_message: expect.any(String),
        },
      },
    ])
  })

  it('of approvals have the request and the answer', async () => {
    const { session } = await openSession([bash('touch x'), 'done'], {
      onAsk: () => ({ decision: 'once', message: 'fine' }),
    })
    const seen = watchFor(session, 'permission_request', 'on_confirmation')
    await session.send('x')
    expect(seen).toMatchObject([
      { eventType: 'permission_request', payload: { tool: 'bash', reasons: [expect.any(String)] } },
      {
        eventType: 'on_confirmation',
        payload: { tool: 'bash', approved: true, decision: 'once', reason: 'fine' },
      },
    ])
  })

  it('of compaction are sent before it, and a hook can block it', async () => {
    const { session } = await openSession(['first '.repeat(400), 'summary', 'second'])
    const seen = watchFor(session, 'pre_compact', 'post_compact')
    await session.send('x')
    await session.send('/compact')
    expect(seen).toMatchObject([
      {
        eventType: 'pre_compact',
        payload: { message_count: 2, tokens: expect.any(Number), trigger: 'command' },
      },
      { eventType: 'post_compact', payload: { before_messages: 2, after_messages: 1 } },
    ])
  })
})

describe('cluster events', () => {
  it('reach the hooks and the stream of the active run', async () => {
    const gate = later()
    const { session, server } = await openSession(async () => {
      await gate.promise
      return 'ok'
    })
    const seen = watchFor(session, 'budget_threshold_hit', 'passivation_requested', 'peer_invocation')
    const running = session.send('x')
    await server.request(0)
    await session.emitClusterEvent({ type: 'passivation_requested', reason: 'node drain', deadlineMs: 5_000 })
    await session.emitClusterEvent({
      type: 'peer_invocation',
      fromSessionId: 's-2',
      fromTenantId: 'acme',
      correlationId: 'c',
    })
    await session.emitClusterEvent({
      type: 'budget_threshold_hit',
      resource: 'usd',
      kind: 'soft',
      consumed: 8,
      limit: 10,
    })
    gate.resolve()
    const { runId } = await running
    expect(seen).toMatchObject([
      { payload: { reason: 'node drain', deadline_ms: 5_000 } },
      { payload: { from_session_id: 's-2', from_tenant_id: 'acme', correlation_id: 'c' } },
      { payload: { resource: 'usd', kind: 'soft', consumed: 8, limit: 10 } },
    ])
    const types = (await session.runEvents(runId)).map(({ event }) => event.type)
    expect(types).toEqual(
      expect.arrayContaining(['passivation_requested', 'peer_invocation', 'budget_threshold_hit']),
    )
  })

  it('reach the hooks also when no run is active', async () => {
    const { session } = await openSession([])
    const seen = watchFor(session, 'passivation_requested')
    await session.emitClusterEvent({ type: 'passivation_requested', reason: 'idle' })
    expect(seen).toHaveLength(1)
  })
})
