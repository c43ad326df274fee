import { describe, expect, it } from 'vitest'
import { isFree, keysInUse, withKeyedLock } from './keyed-lock.js'

describe('inTurn', () => {
  it('runs work on one key in the order it came, and work on others at once', async () => {
    const log: string[] = []
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const first = withKeyedLock(['a'], () => gate.then(() => void log.push('first')))
    const second = withKeyedLock(['a', 'b'], async () => void log.push('second'))
    const third = withKeyedLock(['b'], async () => void log.push('third'))
    await withKeyedLock(['c'], async () => void log.push('other'))
    expect(log).toEqual(['other'])
    expect([isFree('a'), isFree('b'), isFree('c')]).toEqual([false, false, true])
    release()
    await Promise.all([first, second, third])
    expect(log).toEqual(['other', 'first', 'second', 'third'])
    expect(keysInUse()).toBe(0)
  })

  it('goes on after work that failed, and takes no order of keys for a deadlock', async () => {
    const outcomes = await Promise.allSettled([
      withKeyedLock(['a', 'b'], () => Promise.reject(new Error('failed'))),
      withKeyedLock(['b', 'a'], async () => 'second'),
      withKeyedLock(['a', 'a'], async () => 'third'),
    ])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(keysInUse()).toBe(0)
  })
})
