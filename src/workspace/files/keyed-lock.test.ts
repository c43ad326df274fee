import { describe, expect, it } from 'vitest'
import { acquireLock, lockedKeys, tryAcquireLock } from './keyed-lock.js'

async function locked<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  const release = await acquireLock(keys)
  try {
    return await work()
  } finally {
    release()
  }
}

describe('acquireLock', () => {
  it('grants one key in the order of the requests, and other keys at once', async () => {
    const log: string[] = []
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const first = locked(['a'], () => gate.then(() => void log.push('first')))
    const second = locked(['a', 'b'], async () => void log.push('second'))
    const third = locked(['b'], async () => void log.push('third'))
    await locked(['c'], async () => void log.push('other'))
    expect(log).toEqual(['other'])
    open()
    await Promise.all([first, second, third])
    expect(log).toEqual(['other', 'first', 'second', 'third'])
    expect(lockedKeys()).toBe(0)
  })

  it('grants keys after work that failed, in any order of keys', async () => {
    const outcomes = await Promise.allSettled([
      locked(['a', 'b'], () => Promise.reject(new Error('failed'))),
      locked(['b', 'a'], async () => 'second'),
      locked(['a', 'a'], async () => 'third'),
    ])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(lockedKeys()).toBe(0)
  })

  it('releases a lock once, however often it is released', async () => {
    const release = await acquireLock(['a'])
    release()
    const next = await acquireLock(['a'])
    release()
    expect(tryAcquireLock(['a'])).toBeUndefined()
    next()
    expect(lockedKeys()).toBe(0)
  })
})

describe('tryAcquireLock', () => {
  it('acquires free keys without waiting, and none when one of them is locked', async () => {
    const release = tryAcquireLock(['a', 'b'])
    expect(release).toBeDefined()
    expect(tryAcquireLock(['b', 'c'])).toBeUndefined()
    expect(lockedKeys()).toBe(2)
    release?.()
    expect(lockedKeys()).toBe(0)
  })
})
