import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CallState } from './gate.js'
import { guarded, whileRunning } from './guarded.js'

const never = new Promise<string>(() => undefined)

describe('a guard of the host', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const controller = (): { abort: () => void; signal: AbortSignal; state: CallState } => {
    const own = new AbortController()
    const { signal } = own
    const state = { request: { signal }, parts: { guardTimeoutMs: 50 } } as unknown as CallState
    return { signal, state, abort: () => own.abort() }
  }
  /** Returns the promise of a call with the timers that it began at once: code of other tests may begin some too. */
  const timed = <T>(work: () => Promise<T>): { answer: Promise<T>; timers: unknown[] } => {
    const began = vi.spyOn(globalThis, 'setTimeout')
    const answer = work()
    const timers = began.mock.results.map(({ value }) => value as unknown)
    began.mockRestore()
    return { answer, timers }
  }
  const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

  it('leaves no timer and no listener when it answers or fails', async () => {
    const { signal, state } = controller()
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const fine = timed(() => guarded(state, 'a hook', Promise.resolve('fine')))
    expect(await fine.answer).toBe('fine')
    const broken = timed(() => guarded(state, 'a hook', Promise.reject(new Error('broken'))))
    await expect(broken.answer).rejects.toThrow('broken')
    expect([fine.timers.length, broken.timers.length, listeners(signal)]).toEqual([1, 1, 0])
    expect(cleared.mock.calls.flat()).toEqual(expect.arrayContaining([...fine.timers, ...broken.timers]))
    cleared.mockRestore()
  })

  it('blocks the call when it does not answer in time, and leaves nothing', async () => {
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

  it('is not waited for after an abort, also one from before', async () => {
    const { signal, state, abort } = controller()
    const cleared = vi.spyOn(globalThis, 'clearTimeout')
    const { answer: asked, timers } = timed(() => guarded(state, 'a hook', never))
    const words = { envelope: { error_text: 'Not run: the run was aborted while the call was waiting.' } }
    const refused = expect(asked).rejects.toMatchObject(words)
    abort()
    await refused
    await expect(whileRunning(signal, never)).rejects.toMatchObject(words)
    expect(listeners(signal)).toBe(0)
    expect(cleared.mock.calls.flat()).toEqual(expect.arrayContaining(timers))
    cleared.mockRestore()
  })
})
