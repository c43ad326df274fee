import { describe, expect, it } from 'vitest'
import { type DeadlineOptions, type Ended, startDeadline } from './deadline.js'

const never = (): Promise<never> => new Promise(() => undefined)

async function withDeadline<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  options: DeadlineOptions,
): Promise<Ended<Result>> {
  const deadline = startDeadline(options)
  try {
    return await deadline.settle(work(deadline.signal))
  } finally {
    deadline.stop()
  }
}

describe('startDeadline', () => {
  it('returns the result of work that ends in time', async () => {
    expect(await withDeadline(async () => 7, { timeoutMs: 1000, graceMs: 10 })).toEqual({
      how: 'done',
      result: 7,
    })
  })

  it('aborts the work when its time is up, and returns its result when it ends within the grace period', async () => {
    const work = (signal: AbortSignal): Promise<string> =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(`stopped: ${signal.reason.message}`)),
      )
    expect(await withDeadline(work, { timeoutMs: 5, graceMs: 1000 })).toEqual({
      how: 'done',
      result: 'stopped: it ran longer than 5 ms',
    })
  })

  it('abandons work that does not stop', async () => {
    expect(await withDeadline(never, { timeoutMs: 5, graceMs: 5 })).toEqual({ how: 'timeout' })
    const controller = new AbortController()
    const ended = withDeadline(never, {
      signal: controller.signal,
      timeoutMs: Number.POSITIVE_INFINITY,
      graceMs: 5,
    })
    controller.abort()
    expect(await ended).toEqual({ how: 'aborted' })
  })

  it('treats a month as a long limit, not as none at all', async () => {
    const work = (): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(7), 20))
    expect(await withDeadline(work, { timeoutMs: 30 * 24 * 3600 * 1000, graceMs: 5 })).toEqual({
      how: 'done',
      result: 7,
    })
  })

  it('is aborted from the start when the signal already is', async () => {
    const aborted: boolean[] = []
    const work = async (signal: AbortSignal): Promise<void> => void aborted.push(signal.aborted)
    await withDeadline(work, { signal: AbortSignal.abort(), timeoutMs: 1000, graceMs: 5 })
    expect(aborted).toEqual([true])
    expect(await withDeadline(never, { signal: AbortSignal.abort(), timeoutMs: 1000, graceMs: 5 })).toEqual({
      how: 'aborted',
    })
  })

  it('leaves no listener on the signal of its caller', async () => {
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = ((...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }) as typeof add
    signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }) as typeof remove
    await withDeadline(async () => 1, { signal, timeoutMs: 1000, graceMs: 5 })
    expect(listeners).toBe(0)
  })
})
