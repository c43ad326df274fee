import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../loop/events.js'
import { noUsage } from '../loop/usage.js'
import { agentResult } from './agent-result.js'
import { RunRecord, Runs } from './runs.js'

const ended = (runId: string, text = ''): AgentEvent => ({
  type: 'agent_end',
  runId,
  result: agentResult(runId, { text, toolCallsCount: 0, rounds: 1, usage: noUsage, finish: 'stop' }),
})

describe('a run', () => {
  it('is queued, then running, then has the state of its last event', () => {
    const run = new RunRecord('r', 's', 'do it', 10, 100)
    expect(run.snapshot()).toEqual({
      id: 'r',
      sessionId: 's',
      status: 'queued',
      prompt: 'do it',
      createdAtMs: 10,
      updatedAtMs: 10,
      eventCount: 0,
    })
    run.start(20)
    expect(run.snapshot()).toMatchObject({ status: 'running', updatedAtMs: 20 })
    run.add(ended('r', 'all done'), 30)
    expect(run.snapshot()).toMatchObject({
      status: 'completed',
      resultText: 'all done',
      updatedAtMs: 30,
      eventCount: 1,
    })
  })

  it.each<[AgentEvent, string]>([
    [{ type: 'agent_cancelled', reason: 'because' }, 'cancelled'],
    [{ type: 'error', error: 'because', code: 'x' }, 'failed'],
  ])('has the reason for its end: %j', (event, status) => {
    const run = new RunRecord('r', 's', '', 0, 100)
    run.add(event, 1)
    expect(run.snapshot()).toMatchObject({ status, error: 'because' })
  })

  it('keeps its end: later events are ignored', () => {
    const run = new RunRecord('r', 's', '', 0, 100)
    run.add({ type: 'agent_cancelled', reason: 'stop' }, 1)
    run.add(ended('r', 'no'), 2)
    run.start(3)
    expect(run.snapshot()).toMatchObject({ status: 'cancelled', eventCount: 1 })
    expect(run.snapshot()).not.toHaveProperty('resultText')
  })
})

describe('the runs of a session', () => {
  it('drop the oldest ended ones first, and never an open one', () => {
    const runs = new Runs({ maxRuns: 2 })
    runs.create('open', 's', '', 0)
    for (const id of ['a', 'b', 'c']) runs.create(id, 's', '', 0).add(ended(id), 0)
    expect(runs.list().map(({ id }) => id)).toEqual(['open', 'c'])
    runs.create('d', 's', '', 0)
    expect(runs.list().map(({ id }) => id)).toEqual(['open', 'd'])
    runs.create('e', 's', '', 0)
    expect(runs.list().map(({ id }) => id)).toEqual(['open', 'd', 'e'])
  })

  it('apply the limits to those of a log too, and count the dropped ones', () => {
    const row = { sessionId: 's', status: 'completed', prompt: '', createdAtMs: 0, updatedAtMs: 0 } as const
    const event = { runId: 'b', timestampMs: 0, event: { type: 'turn_start', turn: 1 } }
    const runs = new Runs(
      { maxRuns: 2, maxEventsPerRun: 1 },
      {
        runs: new Map(['a', 'b', 'c'].map((id) => [id, { ...row, id }])),
        events: new Map([['b', [{ ...event, sequence: 7 }]]]),
        messages: [],
      },
    )
    expect(runs.list().map(({ id, eventCount }) => [id, eventCount])).toEqual([
      ['b', 7],
      ['c', 0],
    ])
  })

  it('return nothing for an unknown run', () => {
    const runs = new Runs()
    expect(runs.get('x')).toBeUndefined()
    expect(runs.events('x')).toEqual([])
  })

  it.each([
    [{}],
    [{ maxRuns: undefined, maxEventsPerRun: undefined } as object],
    [{ maxRuns: null, maxEventsPerRun: null }],
    [{ maxRuns: Number.POSITIVE_INFINITY, maxEventsPerRun: Number.POSITIVE_INFINITY }],
  ])('keep everything when there is no limit: %j', (limits) => {
    const runs = new Runs(limits)
    const run = runs.create('a', 's', '', 0)
    for (let turn = 0; turn < 20_000; turn++) run.add({ type: 'turn_start', turn }, 0)
    run.add(ended('a'), 0)
    for (let count = 0; count < 200; count++) runs.create(`b${count}`, 's', '', 0).add(ended(`b${count}`), 0)
    expect(runs.list()).toHaveLength(201)
    expect(runs.events('a')).toHaveLength(20_001)
    expect(runs.events('a')[0]?.sequence).toBe(1)
  })
})
