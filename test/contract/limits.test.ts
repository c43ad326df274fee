import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.js'
import { createTool } from '../../src/tool/create-tool.js'
import { overlappingTests } from '../support/overlapping-tests.js'
import {
  bash,
  calls,
  configFor,
  eventsOf,
  makeWorkspace,
  ofType,
  openSession,
  toolResults,
  whenDone,
} from './open-session.js'

const wait = createTool({
  name: 'wait',
  description: 'Waits until it is aborted.',
  input: z.object({}),
  execute: (_, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise<string>((resolve) =>
      signal?.addEventListener('abort', () => resolve('stopped'), { once: true }),
    ),
})
const waiting = { tools: [wait], permissionPolicy: { allow: ['wait'] } }

describe('time limits', () => {
  const it = overlappingTests()

  it('maxExecutionTimeMs ends the whole run, and is named in the error', async () => {
    const { server, session } = await openSession(['warm', { stall: true }, 'fine'], {
      maxExecutionTimeMs: 3_000,
    })
    await session.send('w')
    await expect(session.send('x')).rejects.toThrow(/3000 ms \(maxExecutionTimeMs\)/)
    expect(await server.requests[1]?.ended).toBe('left')
    expect((await session.send('y')).text).toBe('fine')
  })

  it('maxExecutionTimeMs ends it in the middle of a tool too', async () => {
    const { session } = await openSession([calls(['wait', {}]), 'never', 'fine'], {
      ...waiting,
      maxExecutionTimeMs: 3_000,
    })
    await expect(session.send('x')).rejects.toMatchObject({ code: 'run_timeout' })
    expect(session.history().at(-1)).toMatchObject({ role: 'tool' })
  })

  it('roundTimeoutMs ends one round that takes too long, however many there are', async () => {
    const { session } = await openSession([calls(['ls', {}]), calls(['ls', {}]), { stall: true }], {
      roundTimeoutMs: 3_000,
    })
    await expect(session.send('x')).rejects.toThrow(/3000 ms \(roundTimeoutMs\)/)
  })

  it('modelIdleTimeoutMs ends the silence of a model; heartbeats do not count as output', async () => {
    const { server, session } = await openSession(() => ({ stall: true, stallHeartbeatMs: 20 }), {
      modelIdleTimeoutMs: 3_000,
      retry: { maxRetries: 0 },
    })
    await expect(session.send('x')).rejects.toThrow(/3000|silen|idle/i)
    expect(await (await server.request(0)).ended).toBe('left')
  })

  it('toolTimeoutMs is an error that the model reads, and the run continues', async () => {
    const { server, session } = await openSession([calls(['wait', {}]), 'done'], {
      ...waiting,
      toolTimeoutMs: 50,
    })
    expect((await session.send('x')).text).toBe('done')
    expect(toolResults(server, 1)[0]).toMatch(/50 ms/)
  })

  it('toolTimeoutMs ends a command and its children', async () => {
    const { server, session } = await openSession([bash('sleep 30'), 'done'], {
      toolTimeoutMs: 200,
      permissionPolicy: { allow: ['bash'] },
    })
    await session.send('x')
    expect(toolResults(server, 1)[0]).toMatch(/200 ms|time/)
  })
})

describe('limits by number', () => {
  it('maxToolRounds stops a model that never finishes, and every call has a result', async () => {
    let n = 0
    const { session } = await openSession(() => calls(['ls', { path: `d${n++}` }]), { maxToolRounds: 2 })
    await expect(session.send('x')).rejects.toThrow(/all of its 2 tool rounds.*maxToolRounds/)
    const history = session.history()
    expect(history.filter(({ role }) => role === 'tool')).toHaveLength(3)
    expect(history.at(-1)).toMatchObject({ role: 'tool', content: [{ isError: true }] })
  })

  it('maxToolRounds allows one more answer with text', async () => {
    const { session } = await openSession([calls(['ls', {}]), 'done'], { maxToolRounds: 1 })
    expect((await session.send('x')).text).toBe('done')
  })

  it('maxParseRetries stops a model that cannot write JSON', async () => {
    const broken = { toolCalls: [{ name: 'ls', input: '{"path": nonsense!!' }] }
    const { session, server } = await openSession([broken, broken, broken, 'never'], { maxParseRetries: 1 })
    await expect(session.send('x')).rejects.toThrow(/not JSON 2 times in a row/)
    expect(server.requests).toHaveLength(2)
  })

  it('duplicateToolCallThreshold warns a model that repeats itself, then stops it', async () => {
    const { server, session } = await openSession(() => calls(['ls', {}]), { duplicateToolCallThreshold: 1 })
    await expect(session.send('x')).rejects.toThrow(/duplicateToolCallThreshold/)
    expect(toolResults(server, 2).at(-1)).toMatch(/same call/)
  })

  it('retry sets how often a request is tried, each attempt emitted as an event', async () => {
    const busy = { status: 503, headers: { 'retry-after-ms': '1', 'retry-after': '0' } }
    const retry = { maxRetries: 2, baseDelayMs: 1 }
    const { server, session } = await openSession([busy, busy, busy, 'never'], { retry })
    const events = await eventsOf(session, 'x')
    expect(server.requests).toHaveLength(3)
    expect(ofType(events, 'model_retry')).toMatchObject([{ attempt: 1, status: 503 }, { attempt: 2 }])
    expect(events.at(-1)).toMatchObject({ type: 'error' })
  })

  it('a request that succeeded after retries leaves no trace in the answer', async () => {
    const { session } = await openSession([{ status: 503, headers: { 'retry-after': '0' } }, 'fine'], {
      retry: { baseDelayMs: 1 },
    })
    expect((await session.send('x')).text).toBe('fine')
    expect(session.history()).toHaveLength(2)
  })

  it('a connection that is refused fails fast, with a message', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(configFor(`http://127.0.0.1:${await closedPort()}/v1`), {
      userDir,
      env: {},
    })
    whenDone(() => agent.close())
    await expect(agent.session(root).send('x')).rejects.toThrow(/127\.0\.0\.1|connect|reach/i)
  })

  it('continuationEnabled continues an answer that was cut off', async () => {
    const { server, session } = await openSession([{ text: 'first half, ', finish: 'length' }, 'second half'])
    expect((await session.send('x')).text).toBe('first half, second half')
    expect(server.requests).toHaveLength(2)
  })

  it.each(["I'll be here if you need more:", 'Let me know...', 'docs smoke stream ok'])(
    'an answer that has ended is not continued: %s',
    async (text) => {
      const { server, session } = await openSession([text])
      expect((await session.send('x')).text).toBe(text)
      expect(server.requests).toHaveLength(1)
    },
  )

  it('stopWhen ends a run with its result so far', async () => {
    const { session } = await openSession(() => ({ text: 'so far', ...calls(['ls', {}]) }), {
      stopWhen: ({ toolCallsCount }) => toolCallsCount >= 2,
    })
    expect(await session.send('x')).toMatchObject({
      finish: 'stop_condition',
      toolCallsCount: 2,
      text: 'so far',
    })
  })
})

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
