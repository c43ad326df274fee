import { expect, it } from 'vitest'
import { unlessAborted } from './unless-aborted.js'

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
