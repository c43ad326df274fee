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
  it('after a random part of a doubling time, each time with a word about it', async () => {
    const error = failure({ retryable: true, status: 503 })
    const { result, slept, events } = await run([error, error, undefined], { random: () => 0.5 })
    expect(result).toBe('done')
    expect(slept).toEqual([250, 500])
    expect(events).toEqual([
      { type: 'retry', attempt: 1, delayMs: 250, reason: 'no', status: 503 },
      { type: 'retry', attempt: 2, delayMs: 500, reason: 'no', status: 503 },
    ])
  })

  it('no more than four times and not past the longest wait, unless told', async () => {
    const error = failure({ retryable: true })
    expect(await run(Array(9).fill(error))).toMatchObject({ result: error, attempts: 4 })
    const patient = await run(Array(9).fill(error), { maxAttempts: 8 })
    expect(patient.slept).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 20_000])
  })

  it('not before the provider wants it', async () => {
    const { slept } = await run([failure({ retryable: true, retryAfterMs: 9000 }), undefined])
    expect(slept).toEqual([9000])
  })
})

describe('a request is not sent again', () => {
  it.each([
    ['that can never work', failure({})],
    ['that was half answered', failure({ retryable: true, emitted: true })],
    ['whose failure is nobody’s model', new TypeError('bug')],
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
