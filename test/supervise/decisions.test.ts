import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { bash, bodyOf, calls, eventsOf, ofType, openSession, toolResults } from '../contract/open-session.js'
import { kinds, type PeerEvent, type PeerOptions, startPeer } from './support.js'

const all: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' }, instructionFiles: false }

/** A supervisor that decides so about calls of `bash`, and agrees to everything else. */
function aboutBash(...decisions: readonly unknown[]): PeerOptions {
  let at = 0
  return {
    decide: ({ event_type, payload }) =>
      event_type === 'pre_action' && payload['tool'] === 'bash'
        ? decisions[Math.min(at++, decisions.length - 1)]
        : { decision: 'allow' },
  }
}

describe.each(kinds)('a supervisor over %s', (kind) => {
  it('gets a handshake first, and is asked about every call with all its details', async () => {
    const peer = await startPeer(kind)
    const { session, server } = await openSession([bash('echo one'), 'done'], {
      ...all,
      ahpTransport: peer.transport('secret-token'),
      tenantId: 'acme',
    })
    await session.send('Say one')
    expect(toolResults(server, 1)[0]).toContain('one')
    const [hello] = peer.messages
    expect(hello).toMatchObject({
      jsonrpc: '2.0',
      method: 'ahp/handshake',
      params: {
        protocol_version: '2.4',
        session_id: session.sessionId,
        agent_info: { framework: 'capstan', capabilities: expect.arrayContaining(['pre_action', 'batch']) },
      },
    })
    const [asked] = peer.events('pre_action')
    expect(asked).toMatchObject({
      session_id: session.sessionId,
      depth: 0,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      payload: { tool: 'bash', arguments: { command: 'echo one' }, origin: 'model' },
      metadata: { tenantId: 'acme' },
    })
    const [prompt] = peer.events('pre_prompt')
    expect(prompt?.payload).toMatchObject({ prompt: 'Say one', message_count: 0 })
    if (kind !== 'unix_socket')
      for (const { authorization } of peer.headers) expect(authorization).toBe('Bearer secret-token')
    expect(session.supervisorStatus()).toMatchObject({
      kind,
      connected: true,
      name: 'peer',
      asked: 2,
      blocked: 0,
    })
  })

  it('blocks a call with its reason', async () => {
    const peer = await startPeer(kind, aboutBash({ decision: 'block', reason: 'not today' }))
    const { session, server } = await openSession([bash('echo one > made'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Go')
    expect(toolResults(server, 1)[0]).toContain('Blocked by the supervisor: not today')
    expect((await session.tool('ls', {})).output).not.toContain('made')
  })

  it('receives the events, in batches when there are many', async () => {
    const peer = await startPeer(kind)
    const { session } = await openSession([bash('echo one'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Go')
    await session.close()
    const types = peer.events().map(({ event_type }) => event_type)
    // Over HTTP each message is a request of its own: a question can arrive before an event that was sent before it.
    expect(kind === 'http' ? types : types.slice(0, 1)).toContain('session_start')
    expect(types.at(-1)).toBe('session_end')
    expect(types).toEqual(expect.arrayContaining(['post_action', 'post_response', 'success']))
    expect(peer.events('run_lifecycle').map(({ payload }) => payload['status'])).toEqual([
      'started',
      'completed',
    ])
    expect(peer.events('post_action')[0]?.payload).toMatchObject({
      tool: 'bash',
      result: { success: true, exit_code: 0, output: expect.stringContaining('one') },
    })
    const batches = peer.messages.filter(({ method }) => method === 'ahp/batch')
    expect(batches.length).toBeGreaterThan(0)
  })
})

describe('a decision', () => {
  it('that modifies a call is checked and judged like a new call', async () => {
    const rewrite = (args: unknown) => ({ decision: 'modify', modified_payload: { arguments: args } })
    const peer = await startPeer(
      'http',
      aboutBash(
        rewrite({ command: 'echo other' }),
        rewrite({ command: 7 }),
        rewrite({ command: 'echo forbidden' }),
        { decision: 'modify', modified_payload: { tool: 'write', arguments: { command: 'echo x' } } },
        { decision: 'modify' },
      ),
    )
    const { session, server } = await openSession(
      [bash('echo 1'), bash('echo 2'), bash('echo 3'), bash('echo 4'), bash('echo 5'), 'done'],
      {
        ...all,
        permissionPolicy: { deny: ['bash(echo forbidden)'], defaultDecision: 'allow' },
        ahpTransport: peer.transport(),
      },
    )
    await session.send('Go')
    const results = toolResults(server, 5)
    expect(results[0]).toContain('other')
    expect(results[1]).toContain('command')
    expect(results[1]).not.toContain('7\n')
    expect(results[2]).toContain('Refused')
    expect(results[3]).toContain('puts another tool in the place')
    expect(results[4]).toContain('without a modified_payload.arguments')
  })

  it('never allows what rules deny', async () => {
    const peer = await startPeer('http', aboutBash({ decision: 'allow' }))
    const { session, server } = await openSession([bash('echo no'), 'done'], {
      permissionPolicy: { deny: ['bash'] },
      ahpTransport: peer.transport(),
    })
    await session.send('Go')
    expect(toolResults(server, 1)[0]).toContain('Refused')
  })

  it('that escalates asks the user, whatever the rules, lanes and time limits say', async () => {
    const peer = await startPeer('http', aboutBash({ decision: 'escalate', reason: 'look at this' }))
    const asked: string[][] = []
    const { session, server } = await openSession([bash('echo a'), bash('echo b'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
      confirmationPolicy: { yoloLanes: ['execute'], timeoutAction: 'auto_approve' },
      onAsk: ({ reasons }) => {
        asked.push([...reasons])
        return { decision: asked.length === 1 ? 'once' : 'reject' }
      },
    })
    await session.send('Go')
    expect(asked).toEqual(Array(2).fill(['the supervisor requires that a user decides: look at this']))
    expect(toolResults(server, 2)[0]).toContain('a')
    expect(toolResults(server, 2)[1]).toContain('rejected')
  })

  it('that escalates denies the call when no user can be asked, for the host too', async () => {
    const peer = await startPeer('http', aboutBash({ decision: 'escalate', reason: 'look' }))
    const { session, server } = await openSession([bash('echo a'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Go')
    expect(toolResults(server, 1)[0]).toContain('No user can be asked')
    const { output, exitCode } = await session.tool('bash', { command: 'echo a' })
    expect(output).toContain('No user is asked about calls of the host')
    expect(exitCode).not.toBe(0)
  })

  it('that is deferred is requested again, and becomes a question when it is deferred too often', async () => {
    const defer = { decision: 'defer', retry_after_ms: 20, reason: 'thinking' }
    const soon = await startPeer('websocket', aboutBash(defer, defer, { decision: 'allow' }))
    const first = await openSession([bash('echo a'), 'done'], { ...all, ahpTransport: soon.transport() })
    await first.session.send('Go')
    expect(toolResults(first.server, 1)[0]).toContain('a')
    expect(soon.events('pre_action')).toHaveLength(3)

    const late = await startPeer('websocket', aboutBash(defer))
    const reasons: string[] = []
    const second = await openSession([bash('echo a'), 'done'], {
      ...all,
      ahpTransport: late.transport(undefined, { maxDeferMs: 100 }),
      onAsk: (request) => {
        reasons.push(...request.reasons)
        return { decision: 'reject', message: 'no' }
      },
    })
    await second.session.send('Go')
    expect(reasons).toEqual(['the supervisor deferred its decision for longer than 100 ms: thinking'])
  })

  it('about a prompt stops the run, changes the prompt, or asks', async () => {
    const answers: unknown[] = [
      { decision: 'block', reason: 'off topic' },
      { decision: 'modify', modified_payload: { prompt: 'A better question' } },
      { decision: 'escalate', reason: 'odd' },
      { decision: 'escalate', reason: 'odd' },
    ]
    const decide = ({ event_type }: PeerEvent) =>
      event_type === 'pre_prompt' ? answers.shift() : { decision: 'allow' }
    const peer = await startPeer('unix_socket', { decide })
    let said: 'once' | 'reject' = 'once'
    const { session, server } = await openSession(['one', 'two'], {
      ...all,
      ahpTransport: peer.transport(),
      onAsk: () => ({ decision: said }),
    })
    await expect(session.send('Go')).rejects.toMatchObject({
      code: 'blocked_by_hook',
      message: 'The prompt was blocked by the supervisor: off topic',
    })
    await session.send('Go')
    expect(JSON.stringify(bodyOf(server, 0).messages.at(-1))).toContain('A better question')
    await session.send('Again')
    said = 'reject'
    await expect(session.send('Again')).rejects.toThrow('blocked by the supervisor: a user refused it')
    expect(session.pendingConfirmations()).toEqual([])
  })

  it('about a confirmation can refuse, and cannot approve in place of the user', async () => {
    const answers = [
      { decision: 'reject', reason: 'never' },
      { decision: 'approve' },
      { decision: 'modify', modified_payload: {} },
    ]
    const decide = ({ event_type }: PeerEvent) =>
      event_type === 'confirmation' ? answers.shift() : { decision: 'allow' }
    const peer = await startPeer('http', { decide })
    let asked = 0
    const { session, server } = await openSession([bash('echo a'), bash('echo b'), bash('echo c'), 'done'], {
      ahpTransport: peer.transport(),
      onAsk: () => {
        asked++
        return { decision: 'reject', message: 'the person said no' }
      },
    })
    await session.send('Go')
    const [first, second, third] = toolResults(server, 3)
    expect(first).toContain('Refused by the supervisor: never')
    expect(second).toContain('the person said no')
    expect(third).toContain('where nothing can be replaced')
    expect(asked).toBe(1)
  })

  it('is requested after the hooks, and no hook can skip it', async () => {
    const peer = await startPeer('http', aboutBash({ decision: 'block', reason: 'no' }))
    const { session, server } = await openSession([bash('echo a'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
      hooks: [
        {
          id: 'change',
          event: 'pre_tool_use',
          handler: () => ({ action: 'continue', modified: { args: { command: 'echo changed' } } }),
        },
        { id: 'skip', event: 'pre_tool_use', config: { priority: 200 }, handler: () => ({ action: 'skip' }) },
      ],
    })
    await session.send('Go')
    expect(peer.events('pre_action')[0]?.payload['arguments']).toEqual({ command: 'echo changed' })
    expect(toolResults(server, 1)[0]).toContain('Blocked by the supervisor')
  })

  it('applies to subagents, on the same connection and with their depth', async () => {
    const peer = await startPeer('websocket', aboutBash({ decision: 'block', reason: 'not for children' }))
    const task = { agent: 'general', description: 'work', prompt: 'Do it' }
    const { session } = await openSession([calls(['task', task]), bash('echo child'), 'child done', 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Hand it on')
    const [own, child] = peer.events('pre_action')
    expect(own).toMatchObject({ depth: 0, payload: { tool: 'task' } })
    expect(child).toMatchObject({ depth: 1, agent_id: 'general', payload: { tool: 'bash' } })
    expect(child?.session_id).not.toBe(session.sessionId)
    expect(peer.headers).toHaveLength(1)
    expect(session.supervisorStatus()).toMatchObject({ blocked: 1 })
  })

  it('is not requested for agents deeper than agreed: they are denied everything', async () => {
    const peer = await startPeer('http', { config: { max_depth: 0 } })
    const task = { agent: 'general', description: 'work', prompt: 'Do it' }
    const { session, server } = await openSession([calls(['task', task]), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Hand it on')
    expect(toolResults(server, 1)[0]).toContain('deeper than 0 levels are not supervised')
  })

  it('is not requested for events that a supervisor does not name', async () => {
    const peer = await startPeer('http', { capabilities: ['pre_action'] })
    const { session } = await openSession([bash('echo a'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    await session.send('Go')
    expect(peer.events('pre_prompt')).toEqual([])
    expect(peer.events('pre_action')).toHaveLength(1)
    expect(peer.messages.some(({ method }) => method === 'ahp/batch')).toBe(false)
  })

  it('to skip at a rate limit ends the run', async () => {
    const decide = ({ event_type }: PeerEvent) =>
      event_type === 'rate_limit' ? { decision: 'skip', reason: 'too dear' } : { decision: 'allow' }
    const peer = await startPeer('http', { decide })
    const limited = { status: 429, headers: { 'retry-after': '20' } }
    const { session } = await openSession([limited, 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    const events = await eventsOf(session, 'Go')
    expect(ofType(events, 'agent_cancelled')[0]?.reason).toContain(
      'the supervisor ended it at a rate limit: too dear',
    )
  })

  it('to block a recall keeps memories from the model', async () => {
    const { InProcessMemoryStore } = await import('../../src/memory/index.js')
    const decide = ({ event_type }: PeerEvent) =>
      event_type === 'memory_recall' ? { decision: 'block', reason: 'private' } : { decision: 'allow' }
    const peer = await startPeer('http', { decide })
    const { session, server } = await openSession(['done'], {
      ...all,
      memoryStore: new InProcessMemoryStore(),
      ahpTransport: peer.transport(),
    })
    await session.rememberSuccess('paint the hull', ['bash'], 'blue paint was used on the hull')
    await session.send('Which paint did we use on the hull?')
    expect(JSON.stringify(bodyOf(server, 0))).not.toContain('blue paint')
    expect(peer.events('memory_recall')[0]?.payload['query']).toContain('Which paint')
  })

  it('is requested for side questions too', async () => {
    const peer = await startPeer('http', {
      decide: ({ payload }) =>
        payload['aside'] ? { decision: 'block', reason: 'later' } : { decision: 'allow' },
    })
    const { session } = await openSession(['done'], { ...all, ahpTransport: peer.transport() })
    await expect(session.btw('What now?')).rejects.toThrow('blocked by the supervisor: later')
  })
})

describe('a session that is closed', () => {
  it('reports that its run was cancelled before it disconnects', async () => {
    const peer = await startPeer('unix_socket')
    const { session } = await openSession([bash('sleep 100'), 'done'], {
      ...all,
      ahpTransport: peer.transport(),
    })
    const sent = session.send('Go')
    const lost = expect(sent).rejects.toThrow('closed')
    await expect.poll(() => peer.events('pre_action').length).toBe(1)
    await session.close()
    await lost
    const states = peer.events('run_lifecycle').map(({ payload }) => payload)
    expect(states.at(-1)).toMatchObject({ status: 'cancelled', reason: expect.stringContaining('closed') })
    expect(peer.events().at(-1)?.event_type).toBe('session_end')
  })
})

it('an ordinary session has no supervisor', async () => {
  const { session } = await openSession(['done'])
  await session.send('Go')
  expect(session.supervisorStatus()).toBeNull()
  const peer = await startPeer('http')
  const other = await openSession([], { ahpTransport: peer.transport() })
  expect(other.session.supervisorStatus()).toMatchObject({ connected: false, asked: 0 })
  await other.session.close()
  expect(peer.messages).toEqual([])
})
