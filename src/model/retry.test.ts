import { describe, expect, it } from 'vitest'
import { ModelError, type ModelErrorFacts } from './errors.js'
import { type RetryPolicy, withRetries } from './retry.js'

const signal = new AbortController().signal
const failure = (facts: ModelErrorFacts): ModelError => new ModelError('model_server_error', 'no', facts)

async function run(errors: unknown[], policy: Partial<RetryPolicy> = {}) {
  const events: unknown[] = []
  const slept: number[] = []
  let attempts = 0
  const result = await withRetries(
    async () => {
      const error = errors[attempts++]
      if (error !== undefined) throw error
      return 'done'
    },
    {
      signal,
      on: (event) => events.push(event),
      random: () => 1,
      sleep: async (ms) => void slept.push(ms),
      ...policy,
    },
  ).catch((error: unknown) => error)
  return { result, attempts, slept, events }
}

describe('a request is sent again', () => {
  it('after a doubling delay that is shortened by a random part, with an event before each', async () => {
    const error = failure({ retryable: true, status: 503 })
    const { result, slept, events } = await run([error, error, undefined], { random: () => 0.4 })
    expect(result).toBe('done')
    expect(slept).toEqual([900, 1800])
    expect(events).toEqual([
      { type: 'retry', attempt: 1, delayMs: 900, reason: 'no', status: 503 },
      { type: 'retry', attempt: 2, delayMs: 1800, reason: 'no', status: 503 },
    ])
  })

  it('seven times in more than a minute, and not beyond the maximum delay, by default', async () => {
    const error = failure({ retryable: true })
    const patient = await run(Array(9).fill(error), { random: () => 0 })
    expect(patient).toMatchObject({ result: error, attempts: 8 })
    expect(patient.slept).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    const { slept } = await run(Array(9).fill(error), { random: () => 1 })
    expect(slept.reduce((sum, ms) => sum + ms)).toBeGreaterThan(60_000)
    expect(await run(Array(9).fill(error), { maxAttempts: 2 })).toMatchObject({ attempts: 2 })
  })

  it('when its answer was interrupted, with an event that it starts again', async () => {
    const broken = failure({ retryable: true, emitted: true })
    const { result, events } = await run([broken, undefined], { restarts: true })
    expect(result).toBe('done')
    expect(events).toMatchObject([{ attempt: 1, restart: true }])
  })

  it('not before the delay that the provider requests', async () => {
    const { slept } = await run([failure({ retryable: true, retryAfterMs: 9000 }), undefined])
    expect(slept).toEqual([9000])
  })
})

describe('a request is not sent again', () => {
  it.each([
    ['that can never work', failure({})],
    ['that was half answered to a caller that keeps it', failure({ retryable: true, emitted: true })],
    ['whose failure is not a model error', new TypeError('bug')],
  ])('%s', async (_, error) => {
    expect(await run([error])).toMatchObject({ result: error, attempts: 1, events: [] })
  })

  it('once it is aborted, and fails with the reason of the abort', async () => {
    const controller = new AbortController()
    const result = await run([failure({ retryable: true })], {
      signal: controller.signal,
      sleep: async () => controller.abort('enough'),
    })
    expect(result).toMatchObject({ result: 'enough', attempts: 1 })
  })
})
