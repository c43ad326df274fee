import { describe, expect, it } from 'vitest'
import type { AskAnswer, AskRequest } from '../loop/ask.js'
import type { AgentEvent } from '../loop/events.js'
import { type ConfirmationOptions, Confirmations } from './confirmations.js'

const request = (id: string, more: Partial<AskRequest> = {}): AskRequest => ({
  id,
  key: `key of ${id}`,
  toolName: 'bash',
  args: { command: 'rm x' },
  subjects: [],
  reasons: ['it is dangerous'],
  rules: [],
  notes: [],
  ...more,
})

type Made = { confirmations: Confirmations; events: AgentEvent[]; clock: { now: number } }
function make(options: Partial<ConfirmationOptions> = {}): Made {
  const events: AgentEvent[] = []
  const clock = { now: 1_000 }
  const confirmations = new Confirmations({
    policy: { enabled: true },
    root: '/work',
    laneOf: (name) => (name === 'read' ? 'query' : 'execute'),
    emit: (event) => events.push(event),
    now: () => clock.now,
    ...options,
  })
  return { confirmations, events, clock }
}

describe('a call that waits for approval', () => {
  it('is emitted, listed with its remaining time, and answered once', async () => {
    const { confirmations, events, clock } = make()
    const asked = confirmations.ask(request('gate-1', { toolCallId: 'c1' }))
    clock.now += 10_000
    expect(events).toEqual([
      {
        type: 'confirmation_required',
        toolId: 'c1',
        toolName: 'bash',
        args: { command: 'rm x' },
        reasons: ['it is dangerous'],
        timeoutMs: 30_000,
      },
    ])
    expect(confirmations.pending()).toMatchObject([{ toolId: 'c1', toolName: 'bash', remainingMs: 20_000 }])
    expect(confirmations.confirm('gate-1', true)).toBe(false)
    expect(confirmations.confirm('c1', true, 'fine')).toBe(true)
    expect(confirmations.confirm('c1', false)).toBe(false)
    expect(await asked).toEqual({ decision: 'once', message: 'fine' })
    expect(confirmations.pending()).toEqual([])
    expect(events.slice(1)).toEqual([
      { type: 'confirmation_received', toolId: 'c1', approved: true, decision: 'once', reason: 'fine' },
    ])
  })

  it.each<[boolean, AskAnswer['decision'] | undefined, AskAnswer['decision']]>([
    [true, 'session', 'session'],
    [true, undefined, 'once'],
    [false, 'always', 'reject'],
  ])('is approved for the requested scope: %s, %s', async (approved, decision, expected) => {
    const { confirmations } = make()
    const asked = confirmations.ask(request('a'))
    confirmations.confirm('a', approved, undefined, decision)
    expect(await asked).toEqual({ decision: expected })
  })

  it('is refused when its time limit is reached', async () => {
    const { confirmations, events } = make({ policy: { enabled: true, defaultTimeoutMs: 1 } })
    expect(await confirmations.ask(request('a'))).toMatchObject({
      decision: 'reject',
      message: expect.stringContaining('within 1 ms'),
    })
    expect(events.at(-1)).toEqual({ type: 'confirmation_timeout', toolId: 'a', actionTaken: 'rejected' })
    expect(confirmations.pending()).toEqual([])
  })

  it('is approved at its time limit only where the policy says so', async () => {
    const { confirmations, events } = make({
      policy: { enabled: true, defaultTimeoutMs: 1, timeoutAction: 'auto_approve' },
    })
    expect(await confirmations.ask(request('a'))).toEqual({ decision: 'once' })
    expect(events.at(-1)).toMatchObject({ actionTaken: 'auto_approved' })
  })

  it('does not expire early when its time limit is longer than a timer supports', async () => {
    const { confirmations } = make({
      policy: { enabled: true, defaultTimeoutMs: 2 ** 40, timeoutAction: 'auto_approve' },
    })
    const asked = confirmations.ask(request('a'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(confirmations.pending()).toHaveLength(1)
    expect(confirmations.cancelAll('over')).toBe(1)
    expect(await asked).toMatchObject({ decision: 'reject' })
  })

  it('is refused with all others when the session closes', async () => {
    const { confirmations } = make()
    const asked = [confirmations.ask(request('a')), confirmations.ask(request('b'))]
    expect(confirmations.cancelAll('closing')).toBe(2)
    expect(await Promise.all(asked)).toEqual([
      { decision: 'reject', message: 'closing', automatic: true },
      { decision: 'reject', message: 'closing', automatic: true },
    ])
    expect(confirmations.cancelAll('again')).toBe(0)
  })

  it('is refused together with another one that has the same id', async () => {
    const { confirmations } = make()
    const first = confirmations.ask(request('1', { toolCallId: 'same', args: { command: 'ls' } }))
    const second = confirmations.ask(request('2', { toolCallId: 'same', args: { command: 'rm -r .' } }))
    expect(await Promise.all([first, second])).toEqual([
      { decision: 'reject', message: expect.stringContaining("'same'"), automatic: true },
      { decision: 'reject', message: expect.stringContaining("'same'"), automatic: true },
    ])
    expect(confirmations.confirm('same', true)).toBe(false)
  })

  it('does not wait in a lane that needs no approval', async () => {
    const { confirmations, events } = make({ policy: { enabled: true, yoloLanes: ['query'] } })
    expect(await confirmations.ask(request('a', { toolName: 'read' }))).toEqual({ decision: 'once' })
    expect(events).toEqual([])
    void confirmations.ask(request('b'))
    expect(confirmations.pending()).toHaveLength(1)
    confirmations.cancelAll('')
  })
})

describe('a host that decides', () => {
  it('answers by itself, and the answer is emitted', async () => {
    const { confirmations, events } = make({
      policy: {},
      onAsk: ({ id }) => ({ decision: 'always', message: `yes to ${id}` }),
    })
    expect(await confirmations.ask(request('a'))).toEqual({ decision: 'always', message: 'yes to a' })
    expect(events.map(({ type }) => type)).toEqual(['confirmation_required', 'confirmation_received'])
    expect(events[0]).not.toHaveProperty('timeoutMs')
  })

  it('has no effect when the user answered first', async () => {
    let answer: (answer: AskAnswer) => void = () => undefined
    const { confirmations, events } = make({
      onAsk: () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    })
    const asked = confirmations.ask(request('a'))
    confirmations.confirm('a', false)
    answer({ decision: 'always' })
    expect(await asked).toEqual({ decision: 'reject' })
    await Promise.resolve()
    expect(events.filter(({ type }) => type === 'confirmation_received')).toHaveLength(1)
  })

  it('answers only the call it was asked about, not a later one under the same id', async () => {
    const answers: ((answer: AskAnswer) => void)[] = []
    const { confirmations, events } = make({ onAsk: () => new Promise((resolve) => answers.push(resolve)) })
    const first = confirmations.ask(request('a'))
    confirmations.confirm('a', false)
    await first
    const second = confirmations.ask(request('a'))
    answers[0]?.({ decision: 'once' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(confirmations.pending()).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'confirmation_received')).toHaveLength(1)
    confirmations.confirm('a', false, 'no')
    expect(await second).toEqual({ decision: 'reject', message: 'no' })
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('that %s leaves nothing waiting', async (_, onAsk) => {
    const { confirmations } = make({ onAsk })
    await expect(confirmations.ask(request('a'))).rejects.toThrow('broken')
    expect(confirmations.pending()).toEqual([])
  })

  it('does not emit an approval when its answer is not one', async () => {
    const { confirmations, events } = make({ onAsk: () => ({ decision: 'yes' }) as never })
    await confirmations.ask(request('a'))
    expect(events.at(-1)).toMatchObject({ type: 'confirmation_received', approved: false })
  })
})
