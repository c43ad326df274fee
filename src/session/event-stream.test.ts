import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import type { AgentEvent } from '../loop/events.js'
import { EventStream } from './event-stream.js'

const text = (piece: string): AgentEvent => ({ type: 'text_delta', text: piece })
const left = (): never => {
  throw new Error('no reader left')
}

async function drain(stream: EventStream): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe('the stream of a run', () => {
  it('returns what is queued before the end, and after the end only the end', async () => {
    const stream = new EventStream(left)
    stream.push(text('a'))
    stream.end()
    stream.push(text('late'))
    expect(await stream.next()).toEqual({ value: text('a'), done: false })
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  it('serves waiting readers in their order, and ends for all of them', async () => {
    const stream = new EventStream(left)
    const waiting = [stream.next(), stream.next(), stream.next()]
    stream.push(text('1'))
    stream.push(text('2'))
    stream.end()
    expect((await Promise.all(waiting)).map(({ value }) => value)).toEqual([text('1'), text('2'), undefined])
  })

  it('reports once that its reader left, and returns nothing more', async () => {
    let times = 0
    const stream = new EventStream(() => times++)
    stream.push(text('a'))
    stream.push(text('b'))
    for await (const event of stream) {
      expect(event).toEqual(text('a'))
      break
    }
    await stream.return()
    stream.push(text('c'))
    expect(times).toBe(1)
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  it('ends the wait of a reader when the stream is closed', async () => {
    const stream = new EventStream(() => undefined)
    const waiting = stream.next()
    await stream.return()
    expect((await waiting).done).toBe(true)
  })

  it('does not report that its reader left when the run had ended', async () => {
    const stream = new EventStream(left)
    stream.push(text('a'))
    stream.end()
    await stream.return()
    expect((await stream.next()).done).toBe(true)
  })

  it('merges queued deltas of the same text or call', async () => {
    const stream = new EventStream(left)
    for (let at = 0; at < 20_000; at++) stream.push(text('x'))
    stream.push({ type: 'reasoning_delta', text: 'r' })
    for (const toolId of ['a', 'a', 'b']) stream.push({ type: 'tool_input_delta', toolId, text: toolId })
    stream.push({ type: 'turn_start', turn: 2 })
    stream.push({ type: 'turn_start', turn: 3 })
    stream.end()
    const events = await drain(stream)
    expect(events.length).toBeLessThan(600)
    expect(events.slice(-5)).toEqual([
      { type: 'reasoning_delta', text: 'r' },
      { type: 'tool_input_delta', toolId: 'a', text: 'aa' },
      { type: 'tool_input_delta', toolId: 'b', text: 'b' },
      { type: 'turn_start', turn: 2 },
      { type: 'turn_start', turn: 3 },
    ])
  })

  it('keeps its order for a reader that is always a little slow', async () => {
    const stream = new EventStream(left)
    const read: unknown[] = []
    stream.push({ type: 'turn_start', turn: 0 })
    for (let turn = 1; turn <= 5_000; turn++) {
      stream.push({ type: 'turn_start', turn })
      read.push((await stream.next()).value)
    }
    expect(read).toEqual(Array.from({ length: 5_000 }, (_, turn) => ({ type: 'turn_start', turn })))
  })

  it('keeps only the newest of the independent events when too many wait, and merges them with nothing', async () => {
    const stream = new EventStream(left)
    const partial = (n: number): AgentEvent => ({
      type: 'tool_output_delta',
      toolId: 'a',
      toolName: 't',
      text: `{"n":${n}}`,
      whole: true,
    })
    const piece: AgentEvent = { type: 'tool_output_delta', toolId: 'a', toolName: 't', text: 'x' }
    for (let n = 0; n < 2_000; n++) stream.push(partial(n))
    stream.push(piece)
    stream.push(partial(2_000))
    stream.end()
    const events = await drain(stream)
    expect(events.length).toBeLessThan(600)
    expect(events.slice(-3)).toEqual([partial(1_999), piece, partial(2_000)])
  })

  it('returns every text complete and in order, for any sequence of pushes and reads', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c').map((id) => ({ push: id })) },
      { weight: 1, arbitrary: fc.nat(700).map((burst) => ({ burst })) },
      { weight: 3, arbitrary: fc.constant('next' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const stream = new EventStream(left)
        const pushed: AgentEvent[] = []
        const read: Promise<IteratorResult<AgentEvent, undefined>>[] = []
        let n = 0
        const push = (toolId: string): void => {
          const event: AgentEvent = { type: 'tool_output_delta', toolId, toolName: 't', text: `${n++} ` }
          pushed.push(event)
          stream.push(event)
        }
        for (const one of steps) {
          if (one === 'next') read.push(stream.next())
          else if ('push' in one) push(one.push)
          else for (let at = 0; at < one.burst; at++) push('a')
        }
        stream.end()
        const early = (await Promise.all(read)).flatMap(({ value }) => (value === undefined ? [] : [value]))
        expect(inWords([...early, ...(await drain(stream))])).toEqual(inWords(pushed))
      }),
      { numRuns: propertyRuns(50) },
    )
  })
})

/** The words with the calls they belong to: the same whether pieces were joined or not. */
function inWords(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'tool_output_delta'
      ? event.text.split(' ').flatMap((word) => (word === '' ? [] : [`${event.toolId}${word}`]))
      : [event.type],
  )
}
