/**
 * FT-22: readers of events that are slow, throw, never read or go away. The run does not notice, what waits is bounded,
 * what was dropped is counted, and the owner of a stream loses no text.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import { collect, ofType } from '../contract/open-session.js'
import { sessionWith } from './support.js'

const pieces = 50_000
const words = Array.from({ length: pieces }, (_, at) => `${at} `)

async function talking(options: Record<string, unknown> = {}): Promise<Session> {
  const model = scriptedModel(() => ({ deltas: words }))
  const { session } = await sessionWith(model, { builtinTools: false, ...options })
  return session
}

async function runOf(session: Session): Promise<string> {
  return (await session.runs()).at(-1)?.id ?? ''
}

function textOf(events: readonly AgentEvent[]): string {
  return ofType(events, 'text_delta')
    .map(({ text }) => text)
    .join('')
}

describe('FT-22: the owner of a stream', () => {
  it('who never reads delays nothing, and gets everything merged afterwards', async () => {
    const session = await talking()
    const stream = await session.stream('Go.')
    const [run] = await session.runs()
    while ((await session.runSnapshot(run?.id ?? ''))?.status !== 'completed') await wait(5)
    const events = await collect(stream)
    expect(textOf(events)).toBe(words.join(''))
    expect(events.at(-1)?.type).toBe('agent_end')
    console.info(`FT-22: ${pieces} pieces became ${events.length} events for a reader that came late`)
    expect(events.length).toBeLessThan(1000)
  })

  it('who is slow gets all text, in order', async () => {
    const session = await talking()
    const events: AgentEvent[] = []
    for await (const event of await session.stream('Go.')) {
      events.push(event)
      if (events.length % 100 === 0) await wait(1)
    }
    expect(textOf(events)).toBe(words.join(''))
  })

  it('who throws, or leaves, cancels the run and nothing else', async () => {
    const session = await talking()
    const failure = new Error('reader')
    const reading = async (): Promise<void> => {
      for await (const event of await session.stream('Go.')) if (event.type === 'text_delta') throw failure
    }
    await expect(reading()).rejects.toBe(failure)
    while ((await session.currentRun()) !== null) await wait(5)
    expect((await session.runs())[0]?.status).toBe('cancelled')
    expect((await session.send('Go.')).text).toBe(words.join(''))
  })

  it('who requests many events at once gets each of them once', async () => {
    const session = await talking()
    const stream = await session.stream('Go.')
    const first = await Promise.all(Array.from({ length: 50 }, () => stream.next()))
    const rest = await collect(stream)
    const events = [...first.flatMap(({ value }) => (value === undefined ? [] : [value])), ...rest]
    expect(textOf(events)).toBe(words.join(''))
  })

  it('who reads again after the end gets the end, and so does a waiting read', async () => {
    const session = await talking()
    const stream = await session.stream('Go.')
    const waiting = stream.next()
    await stream.return()
    expect((await stream.next()).done).toBe(true)
    expect(await waiting).toBeDefined()
  })
})

describe('FT-22: a watcher', () => {
  it('that never reads delays nothing and keeps no more than the run does', async () => {
    const session = await talking({ retentionLimits: { maxEventsPerRun: 200 } })
    const sending = session.send('Go.')
    const watching = session.watch(await runOf(session))
    await watching.next()
    expect((await sending).text).toBe(words.join(''))
    const [run] = await session.runs()
    expect(run?.eventCount).toBeGreaterThan(pieces)
    expect(await session.runEvents(run?.id ?? '')).toHaveLength(200)
    // It comes back, and learns how many events it missed.
    const late = await watching.next()
    expect(late.value).toMatchObject({ event: { type: 'events_missed' } })
    let missed = 0
    let seen = 1
    let last = 0
    const all = [late.value]
    for await (const event of watching) all.push(event)
    for (const one of all) {
      if (one === undefined) continue
      if (one.event.type === 'events_missed') missed += one.event.count
      else seen += 1
      expect(one.sequence).toBeGreaterThan(last - 1)
      last = one.sequence
    }
    expect(missed + seen).toBe(run?.eventCount)
    console.info(
      `FT-22: a watcher that slept saw ${seen} of ${run?.eventCount} events and was informed of ${missed}`,
    )
  })

  it('that leaves, by return or by a signal, cancels nothing', async () => {
    const session = await talking()
    const sending = session.send('Go.')
    const id = await runOf(session)
    for await (const _ of session.watch(id)) break
    const controller = new AbortController()
    const watching = (async () => {
      let count = 0
      for await (const _ of session.watch(id, { signal: controller.signal })) {
        count += 1
        if (count === 10) controller.abort()
      }
      return count
    })()
    const failing = (async () => {
      for await (const _ of session.watch(id)) throw new Error('watcher')
    })()
    await expect(failing).rejects.toThrow('watcher')
    expect(await watching).toBeLessThan(20)
    expect((await sending).text).toBe(words.join(''))
  })

  it('and a hundred others get the same events', async () => {
    const session = await talking({
      retentionLimits: { maxEventsPerRun: 100_000 },
      model: scriptedModel(() => ({ deltas: words.slice(0, 500) })),
    })
    const sending = session.send('Go.')
    const id = await runOf(session)
    const seen = await Promise.all(
      Array.from({ length: 100 }, async () => {
        let text = ''
        for await (const { event } of session.watch(id)) if (event.type === 'text_delta') text += event.text
        return text
      }),
    )
    await sending
    expect(new Set(seen)).toEqual(new Set([words.slice(0, 500).join('')]))
  })

  it('of an unknown or ended run ends at once', async () => {
    const session = await talking()
    for await (const _ of session.watch('nobody')) throw new Error('an event of nothing')
    await session.send('Go.')
    const [run] = await session.runs()
    const again: number[] = []
    for await (const { sequence } of session.watch(run?.id ?? '', { from: (run?.eventCount ?? 0) - 3 }))
      again.push(sequence)
    expect(again).toHaveLength(3)
    const past: number[] = []
    for await (const { sequence } of session.watch(run?.id ?? '', { from: 10 ** 9 })) past.push(sequence)
    expect(past).toEqual([])
  })
})
