import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CallState } from './gate.js'
import { guarded, whileRunning } from './guarded.js'

const never = new Promise<string>(() => undefined)

describe('a guard of the host', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => {
    stopRecording()
    vi.useRealTimers()
  })

  const controller = (): { abort: () => void; signal: AbortSignal; state: CallState } => {
    const own = new AbortController()
    const { signal } = own
    const state = { request: { signal }, parts: { guardTimeoutMs: 50 } } as unknown as CallState
    return { signal, state, abort: () => own.abort() }
  }
  /**
   * Returns the promise of a call with the timers that it began at once: code of other tests may begin some too.
   * This is not `vi.spyOn`: vitest restores spies once more when the file has ended, which would leave the fake timer
   * to the next file of the worker.
   */
  const timed = <T>(work: () => Promise<T>): { answer: Promise<T>; timers: unknown[] } => {
    const fake = globalThis.setTimeout
    const timers: unknown[] = []
    globalThis.setTimeout = ((...args: Parameters<typeof fake>) => {
      const timer = fake(...args)
      timers.push(timer)
      return timer
    }) as typeof fake
    try {
      return { answer: work(), timers }
    } finally {
      globalThis.setTimeout = fake
    }
  }
  let stopRecording = (): void => undefined
  /** Records the timers that are cleared until the end of the test. */
  const recordCleared = (): unknown[] => {
    const fake = globalThis.clearTimeout
    const cleared: unknown[] = []
    globalThis.clearTimeout = (timer) => {
      cleared.push(timer)
      fake(timer)
    }
    stopRecording = () => {
      globalThis.clearTimeout = fake
      stopRecording = () => undefined
    }
    return cleared
  }
  const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

  it('leaves no timer and no listener when it answers or fails', async () => {
    const { signal, state } = controller()
    const cleared = recordCleared()
    const fine = timed(() => guarded(state, 'a hook', Promise.resolve('fine')))
    expect(await fine.answer).toBe('fine')
    const broken = timed(() => guarded(state, 'a hook', Promise.reject(new Error('broken'))))
    await expect(broken.answer).rejects.toThrow('broken')
    expect([fine.timers.length, broken.timers.length, listeners(signal)]).toEqual([1, 1, 0])
    expect(cleared).toEqual(expect.arrayContaining([...fine.timers, ...broken.timers]))
  })

  it('blocks the call when it does not answer in time, and leaves no timer or listener', async () => {
    const { signal, state } = controller()
    const asked = timed(() => guarded(state, 'a hook', never))
    expect([asked.timers.length, listeners(signal)]).toEqual([1, 1])
    const refused = expect(asked.answer).rejects.toMatchObject({
      envelope: { error_text: 'Blocked: a hook did not answer within 50 ms.' },
    })
    await vi.advanceTimersByTimeAsync(50)
    await refused
    expect(listeners(signal)).toBe(0)
  })

  it('is not awaited after an abort, including an earlier one', async () => {
    const { signal, state, abort } = controller()
    const cleared = recordCleared()
    const { answer: asked, timers } = timed(() => guarded(state, 'a hook', never))
    const words = { envelope: { error_text: 'Not run: the run was aborted while the call was waiting.' } }
    const refused = expect(asked).rejects.toMatchObject(words)
    abort()
    await refused
    await expect(whileRunning(signal, never)).rejects.toMatchObject(words)
    expect(listeners(signal)).toBe(0)
    expect(cleared).toEqual(expect.arrayContaining(timers))
  })
})
