import { expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { type Started, startServer } from './support.js'

const long = `Land ${'in sight '.repeat(500)}!`

/** A server with one run that ended, and the path of the run. */
async function ended(): Promise<{ readonly started: Started; readonly path: string }> {
  const started = await startServer({ session: { model: scriptedModel([{ text: long, deltas: [long] }]) } })
  const { sessionId } = (await started.call('POST', '/v1/sessions', {})).body
  const { runId } = (await started.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Look.' })).body
  const path = `/v1/sessions/${sessionId}/runs/${runId}`
  await started.call('GET', `${path}/events`)
  return { started, path }
}

it('shortens long texts in the log of a run, and returns one event in full', async () => {
  const { started, path } = await ended()
  const { body } = await started.call('GET', `${path}/log?maxText=100`)
  const text = body.events.find(({ event }: { event: { type: string } }) => event.type === 'text_delta')
  expect(text).toMatchObject({ cutChars: long.length - 100, event: { text: long.slice(0, 100) } })
  expect(body.events[0]).not.toHaveProperty('cutChars')
  const whole = await started.call('GET', `${path}/log?from=${text.sequence - 1}&limit=1`)
  expect(whole.body.events).toMatchObject([{ sequence: text.sequence, event: { text: long } }])
})

it('shortens long texts in the stream of events', async () => {
  const { started, path } = await ended()
  const timed = await started.call('GET', `${path}/events?timed=true&maxText=100`)
  expect(timed.body).toContain(`"cutChars":${long.length - 100}`)
  expect(timed.body).not.toContain(long)
  const plain = await started.call('GET', `${path}/events?maxText=100`)
  expect(plain.body).toContain(long.slice(0, 100))
  expect(plain.body).not.toContain('cutChars')
  expect((await started.call('GET', `${path}/log?maxText=1`)).status).toBe(400)
})

it('returns pages of a log that end early when their events are long', async () => {
  const model = scriptedModel([{ text: 'x'.repeat(3_000_000), deltas: 600_000 }])
  const started = await startServer({ session: { model } })
  const { sessionId } = (await started.call('POST', '/v1/sessions', {})).body
  const { runId } = (await started.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Look.' })).body
  const path = `/v1/sessions/${sessionId}/runs/${runId}`
  await started.call('GET', `${path}/events`)
  const numbers: number[] = []
  for (let isLast = false; !isLast; ) {
    const page = (await started.call('GET', `${path}/log?from=${numbers.at(-1) ?? 0}`)).body
    isLast = page.isLast
    numbers.push(...page.events.map(({ sequence }: { sequence: number }) => sequence))
    // The last event has the whole text again, and is a page of its own.
    expect(JSON.stringify(page).length < 1_100_000 || page.events.length === 1).toBe(true)
  }
  expect(numbers).toEqual(numbers.map((_, at) => at + 1))
})
