import { describe, expect, it } from 'vitest'
import { readQueueConfig } from './config.js'

describe('the configuration of the queue', () => {
  it('is filled with defaults', () => {
    const { lanes, retry, deadLetters, metrics, alertDepth } = readQueueConfig({})
    expect(Object.values(lanes).map(({ concurrency }) => concurrency)).toEqual([4, 4, 2, 1])
    expect(retry).toEqual({ maxRetries: 3, firstDelayMs: 100, growth: 2, maxDelayMs: 30_000 })
    expect({ deadLetters, metrics, alertDepth }).toEqual({
      deadLetters: 0,
      metrics: false,
      alertDepth: undefined,
    })
  })

  it('accepts the names of the configuration file too', () => {
    const read = readQueueConfig({
      queryMaxConcurrency: 9,
      defaultTimeoutMs: 70,
      laneTimeouts: { query: 50 },
      priorityBoost: { strategy: 'linear', deadlineMs: 40 },
      rateLimit: { limitType: 'per_second', maxOperations: 3 },
      storagePath: 'x',
    })
    expect(read.lanes.query).toMatchObject({ concurrency: 9, timeoutMs: 50, rate: { count: 3, perMs: 1000 } })
    expect(read.lanes.execute.timeoutMs).toBe(70)
    expect(read.ageingMs).toBe(40)
  })

  it('enables everything at once', () => {
    const read = readQueueConfig({ enableAllFeatures: true })
    expect(read).toMatchObject({ deadLetters: 1000, metrics: true, alertDepth: 50 })
    expect(read.lanes.generate.rate).toEqual({ count: 60, perMs: 60_000 })
  })

  it.each([
    [7, 'it must be an object'],
    [{ queryConcurrency: 0 }, 'queryConcurrency must be a whole number of at least 1'],
    [{ enableDlq: 'yes' }, 'enableDlq must be true or false'],
    [{ laneHandlers: { main: {} } }, "Invalid lane 'main'. Must be: control, query, execute, or generate"],
    [
      { laneHandlers: { query: { mode: 'remote' } } },
      "Invalid handler mode 'remote'. Must be: internal, external, or hybrid",
    ],
    [{ retryPolicy: { strategy: 'often' } }, 'retryPolicy.strategy must be exponential, fixed or none'],
    [{ rateLimit: { limitType: 'per_week', maxOperations: 1 } }, 'limitType must be one of per_second'],
    [{ enableDLQ: true }, 'enableDLQ is not known'],
    [{ engine: {} }, 'engine must be a QueueEngine'],
  ])('is rejected when it is invalid: %j', (given, why) => {
    expect(() => readQueueConfig(given)).toThrow(why)
  })
})
