import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../loop/events.js'
import { ActiveRun } from './active-run.js'
import { RunRecord } from './runs.js'

type Screen = ConstructorParameters<typeof ActiveRun>[2]

function start(screen: Screen = (pass) => pass) {
  const kept: string[] = []
  const record = new RunRecord('r', 's', 'go', 0, 100)
  const run = new ActiveRun(
    record,
    () => 7,
    screen,
    (event, now) => void kept.push(`${event.type} ${now}`),
  )
  return { run, record, kept }
}

const delta = (text: string): AgentEvent => ({ type: 'text_delta', text })
const cancelled = { type: 'agent_cancelled', runId: 'r', reason: 'secret words' } as unknown as AgentEvent

describe('ActiveRun', () => {
  it('saves, records and streams events until the run has ended', async () => {
    const { run, kept } = start()
    run.emit(delta('a'))
    run.emit(cancelled)
    const seen: string[] = []
    for await (const event of run.stream) seen.push(event.type)
    expect(seen).toEqual(['text_delta', 'agent_cancelled'])
    expect(kept).toEqual(['text_delta 7', 'agent_cancelled 7'])
    expect(run.ended).toBe(true)
    run.emit(delta('late'))
    expect(kept).toHaveLength(2)
  })

  it('passes every event through the redactor', () => {
    const { run, kept } = start((pass) => (event) => {
      if (event.type !== 'text_delta') pass(event)
    })
    run.emit(delta('hidden'))
    run.emit(cancelled)
    expect(kept).toEqual(['agent_cancelled 7'])
  })

  it('fails when the redactor fails, and reports its end without text that was not redacted', async () => {
    const { run } = start(() => () => {
      throw new Error('screen broke')
    })
    expect(() => run.emit(delta('a'))).toThrow('screen broke')
    run.emit(cancelled)
    const seen: AgentEvent[] = []
    for await (const event of run.stream) seen.push(event)
    expect(seen).toMatchObject([{ type: 'agent_cancelled', reason: expect.stringContaining('withheld') }])
    expect(JSON.stringify(seen)).not.toContain('secret words')
  })

  it('is cancelled once, and not after it has ended', () => {
    const { run } = start()
    expect(run.cancel('its user said so')).toBe(true)
    expect(run.signal.reason).toMatchObject({
      code: 'cancelled',
      message: 'The run was cancelled: its user said so.',
    })
    expect(run.cancel('again')).toBe(false)
    const other = start().run
    other.emit(cancelled)
    expect(other.cancel('too late')).toBe(false)
    expect(other.signal.aborted).toBe(false)
  })

  it('is cancelled when its reader leaves early', async () => {
    const { run } = start()
    run.emit(delta('a'))
    for await (const _ of run.stream) break
    expect(run.signal.aborted).toBe(true)
  })

  it('ends when a signal that it follows is aborted, and not after it stopped following', () => {
    const { run } = start()
    const [first, second] = [new AbortController(), new AbortController()]
    run.follow(first.signal)()
    first.abort()
    expect(run.signal.aborted).toBe(false)
    run.follow(undefined)()
    run.follow(second.signal)
    second.abort(new Error('why'))
    expect(run.signal.reason).toMatchObject({ code: 'cancelled', cause: { message: 'why' } })
  })

  it('has a result that rejects before it was started', async () => {
    await expect(start().run.result).rejects.toThrow('the run was not started')
  })
})
