import { describe, expect, it, onTestFinished } from 'vitest'
import { never, type PeerOptions, startPeer } from '../../test/supervise/support.js'
import type { AhpEvent, BlockingEvent, NoticeEvent } from './protocol.js'
import { Supervisor } from './supervisor.js'
import type { AhpOptions } from './transport.js'

async function supervise(options: PeerOptions = {}, settings: AhpOptions = {}) {
  const peer = await startPeer('unix_socket', options)
  onTestFinished(() => peer.stop())
  const notices: string[] = []
  const supervisor = new Supervisor({
    transport: peer.transport(undefined, { reconnectMs: 0, ...settings }),
    who: { sessionId: 's', agentId: 'a', version: '0.0.0' },
    notice: (message) => void notices.push(message),
  })
  onTestFinished(() => supervisor.close())
  return { peer, supervisor, notices }
}

function event<Name extends BlockingEvent | NoticeEvent>(name: Name, depth = 0): AhpEvent<Name> {
  return {
    event_type: name,
    session_id: 's',
    agent_id: 'a',
    timestamp: '2026-01-01T00:00:00Z',
    depth,
    payload: { tool: 'bash', arguments: { command: 'ls' } },
  }
}

describe('Supervisor', () => {
  it('applies the decisions of the supervisor, and counts them', async () => {
    const decisions = [
      { decision: 'allow' },
      { decision: 'block', reason: 'not on\nSundays!' },
      { decision: 'modify', modified_payload: { arguments: { command: 'pwd' } } },
      { decision: 'escalate', reason: 'too risky.' },
    ]
    const { supervisor } = await supervise({ decide: () => decisions.shift() })
    expect(await supervisor.ask(event('pre_action'))).toEqual({ action: 'allow' })
    expect(await supervisor.ask(event('pre_action'))).toEqual({
      action: 'block',
      reason: expect.stringMatching(/^not on.*Sundays$/),
      decided: true,
    })
    expect(await supervisor.ask(event('pre_action'))).toEqual({
      action: 'modify',
      value: { command: 'pwd' },
    })
    expect(await supervisor.ask(event('pre_action'))).toEqual({
      action: 'ask',
      reason: 'the supervisor requires that a user decides: too risky',
    })
    expect(supervisor.status()).toMatchObject({
      kind: 'unix_socket',
      connected: true,
      name: 'peer',
      asked: 4,
      blocked: 1,
      modified: 1,
      escalated: 1,
      unsupervised: 0,
    })
  })

  it('asks again while a decision is deferred, and asks the user when that takes too long', async () => {
    const decisions = [
      { decision: 'defer', retry_after_ms: 0 },
      { decision: 'defer', retry_after_ms: 1 },
      { decision: 'allow' },
      { decision: 'defer', retry_after_ms: 600_000, reason: 'tomorrow' },
    ]
    const { peer, supervisor } = await supervise({ decide: () => decisions.shift() })
    expect(await supervisor.ask(event('pre_action'))).toEqual({ action: 'allow' })
    expect(peer.events('pre_action')).toHaveLength(3)
    expect(await supervisor.ask(event('pre_action'))).toMatchObject({
      action: 'ask',
      reason: expect.stringContaining('for longer than 30000 ms: tomorrow'),
    })
  })

  it('does not ask about kinds that the supervisor did not name', async () => {
    const { peer, supervisor } = await supervise({
      capabilities: ['pre_prompt'],
      decide: () => ({ decision: 'block' }),
    })
    expect(await supervisor.ask(event('pre_action'))).toEqual({ action: 'allow' })
    expect(peer.events('pre_action')).toEqual([])
    expect(supervisor.status().asked).toBe(0)
  })

  it('blocks agents that are deeper than the supervisor’s limit', async () => {
    const { peer, supervisor } = await supervise({ config: { max_depth: 1 } })
    expect(await supervisor.ask(event('pre_action', 1))).toEqual({ action: 'allow' })
    expect(await supervisor.ask(event('pre_action', 2))).toMatchObject({
      action: 'block',
      reason: expect.stringContaining('deeper than 1 levels'),
    })
    expect(peer.events('pre_action')).toHaveLength(1)
  })

  it.each([
    ['an answer that is not a decision', { decision: 'maybe' }],
    ['a change of the tool', { decision: 'modify', modified_payload: { tool: 'write', arguments: {} } }],
  ])('blocks after %s', async (_, decision) => {
    const { supervisor } = await supervise({ decide: () => decision }, { onDisconnect: 'continue' })
    expect(await supervisor.ask(event('pre_action'))).toMatchObject({
      action: 'block',
      reason: expect.stringContaining('gave no decision, so this is denied'),
    })
  })

  it('blocks what is not answered in time, also when work continues without a supervisor', async () => {
    const { supervisor } = await supervise(
      { decide: () => never, config: { timeout_ms: 1 } },
      { onDisconnect: 'continue' },
    )
    expect(await supervisor.ask(event('pre_action'))).toMatchObject({
      action: 'block',
      reason: expect.stringContaining('did not answer within 1 ms'),
    })
  })

  it('blocks what is aborted while it waits for an answer or for a deferred decision', async () => {
    const controller = new AbortController()
    const { supervisor } = await supervise({
      decide: () => {
        setImmediate(() => controller.abort())
        return { decision: 'defer', retry_after_ms: 20_000 }
      },
    })
    expect(await supervisor.ask(event('pre_action'), controller.signal)).toEqual({
      action: 'block',
      reason: 'the run was aborted',
    })
  })

  it('blocks everything while the supervisor is disconnected, and reports the loss and the return once', async () => {
    const { peer, supervisor, notices } = await supervise()
    await peer.stop()
    for (let n = 0; n < 2; n++)
      expect(await supervisor.ask(event('pre_action'))).toMatchObject({
        action: 'block',
        reason: expect.stringContaining('cannot be asked, so this is denied'),
      })
    expect(notices).toEqual([
      expect.stringMatching(/cannot be asked: .* Everything is denied until it is connected again\.$/),
    ])
    expect(supervisor.status()).toMatchObject({ connected: false, lastError: expect.any(String) })
    await peer.start()
    expect(await supervisor.ask(event('pre_action'))).toEqual({ action: 'allow' })
    expect(notices).toHaveLength(2)
    expect(notices[1]).toBe('The supervisor is connected again.')
  })

  it('allows work without it when the host says so, and counts what was not supervised', async () => {
    const { peer, supervisor, notices } = await supervise({}, { onDisconnect: 'continue' })
    await peer.stop()
    expect(await supervisor.ask(event('pre_action'))).toEqual({ action: 'allow' })
    expect(supervisor.status()).toMatchObject({ unsupervised: 1, blocked: 0 })
    expect(notices).toEqual([expect.stringContaining('Work continues without it.')])
  })

  it('reports events before it asks, and the rest when it is closed', async () => {
    const { peer, supervisor } = await supervise()
    supervisor.tell(event('post_action'))
    supervisor.tell(event('success'))
    await supervisor.ask(event('pre_action'))
    expect(peer.events().map(({ event_type }) => event_type)).toEqual([
      'post_action',
      'success',
      'pre_action',
    ])
    supervisor.tell(event('session_end'))
    await supervisor.close()
    await expect.poll(() => peer.events('session_end')).toHaveLength(1)
  })

  it('reports one by one to a supervisor that does not accept batches', async () => {
    const { peer, supervisor } = await supervise({ capabilities: ['pre_action'] })
    for (let n = 0; n < 3; n++) supervisor.tell(event('heartbeat'))
    await supervisor.ask(event('pre_action'))
    expect(peer.messages.filter(({ method }) => method === 'ahp/batch')).toEqual([])
    expect(peer.events('heartbeat')).toHaveLength(3)
  })
})
