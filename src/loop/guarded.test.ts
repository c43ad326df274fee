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
  const left = (signal: AbortSignal): { listeners: number; timers: number } => ({
    listeners: getEventListeners(signal, 'abort').length,
    timers: vi.getTimerCount(),
  })
  const nothing = { listeners: 0, timers: 0 }

  it('leaves no timer and no listener when it answers or fails', async () => {
    const { signal, state } = controller()
    expect(await guarded(state, 'a hook', Promise.resolve('fine'))).toBe('fine')
    await expect(guarded(state, 'a hook', Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(left(signal)).toEqual(nothing)
  })

  it('blocks the call when it does not answer in time, and leaves nothing', async () => {
    const { signal, state } = controller()
    const asked = guarded(state, 'a hook', never)
    expect(left(signal)).toEqual({ listeners: 1, timers: 1 })
    const refused = expect(asked).rejects.toMatchObject({
      envelope: { error_text: 'Blocked: a hook did not answer within 50 ms.' },
    })
    await vi.advanceTimersByTimeAsync(50)
    await refused
    expect(left(signal)).toEqual(nothing)
  })

  it('is not waited for after an abort, also one from before', async () => {
    const { signal, state, abort } = controller()
    const asked = guarded(state, 'a hook', never)
    const words = { envelope: { error_text: 'Not run: the run was aborted while the call was waiting.' } }
    const refused = expect(asked).rejects.toMatchObject(words)
    abort()
    await refused
    await expect(whileRunning(signal, never)).rejects.toMatchObject(words)
    expect(left(signal)).toEqual(nothing)
  })
})
