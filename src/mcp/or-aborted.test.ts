import { describe, expect, it } from 'vitest'
import { orAborted } from './or-aborted.js'

describe('raced', () => {
  const never = new Promise<never>(() => undefined)

  it('gives what the work gives, with or without a signal', async () => {
    expect(await orAborted(Promise.resolve(1), undefined)).toBe(1)
    expect(await orAborted(Promise.resolve(1), new AbortController().signal)).toBe(1)
    await expect(orAborted(Promise.reject(new Error('no')), new AbortController().signal)).rejects.toThrow(
      'no',
    )
  })

  it('stops waiting for work that cannot be stopped', async () => {
    const controller = new AbortController()
    const waiting = orAborted(never, controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(orAborted(never, controller.signal)).rejects.toThrow('enough')
  })
})
