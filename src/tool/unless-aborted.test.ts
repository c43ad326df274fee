import { expect, it } from 'vitest'
import { unlessAborted } from './unless-aborted.js'

const never = new Promise<never>(() => undefined)

it('settles like the promise, with or without a signal', async () => {
  const { signal } = new AbortController()
  expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1)
  expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
})

it('stops waiting when the signal is aborted, with its reason or the given one', async () => {
  const controller = new AbortController()
  const waiting = unlessAborted(never, controller.signal)
  const other = unlessAborted(never, controller.signal, () => new Error('withdrawn'))
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(other).rejects.toThrow('withdrawn')
  await expect(unlessAborted(never, controller.signal)).rejects.toThrow('enough')
})

it('leaves no unhandled rejection, also when it was aborted before', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    const late = Promise.reject(new Error('too late'))
    await expect(unlessAborted(late, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop')
    await new Promise(setImmediate)
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', note)
  }
})
