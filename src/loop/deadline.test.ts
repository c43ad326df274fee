import { describe, expect, it } from 'vitest'
import { withDeadline } from './deadline.js'

const never = (): Promise<never> => new Promise(() => undefined)

describe('withDeadline', () => {
  it('gives the result of work that ends in time', async () => {
    expect(await withDeadline(async () => 7, { timeoutMs: 1000, graceMs: 10 })).toEqual({
      how: 'done',
      result: 7,
    })
  })

  it('tells the work when its time is up, and takes what it says within the grace', async () => {
    const work = (signal: AbortSignal): Promise<string> =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(`stopped: ${signal.reason.message}`)),
      )
    expect(await withDeadline(work, { timeoutMs: 5, graceMs: 1000 })).toEqual({
      how: 'done',
      result: 'stopped: it ran longer than 5 ms',
    })
  })

  it('leaves work behind that does not stop', async () => {
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

  it('takes a month for what it is, not for an instant', async () => {
    const work = (): Promise<number> => new Promise((resolve) => setTimeout(() => resolve(7), 20))
    expect(await withDeadline(work, { timeoutMs: 30 * 24 * 3600 * 1000, graceMs: 5 })).toEqual({
      how: 'done',
      result: 7,
    })
  })

  it('never starts work once the signal is aborted', async () => {
    let started = false
    const work = async (): Promise<void> => {
      started = true
    }
    expect(await withDeadline(work, { signal: AbortSignal.abort(), timeoutMs: 5, graceMs: 5 })).toEqual({
      how: 'aborted',
    })
    expect(started).toBe(false)
  })

  it('leaves no listener on the signal it was given', async () => {
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
