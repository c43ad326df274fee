import { describe, expect, it } from 'vitest'
import { Slots, TaskFamily, TaskLimitError } from './limits.js'

describe('TaskFamily', () => {
  it('reserves all tasks of a call or none, and reserves again what was released', () => {
    const family = new TaskFamily({ maxTasks: 3 })
    family.take(2, 0)
    expect(() => family.take(2, 0)).toThrow(TaskLimitError)
    expect(() => family.take(2, 0)).toThrow('2 are unfinished, and at most 3 may be')
    family.take(1, 1)
    family.release()
    family.take(1, 4)
    expect(() => family.take(1, 4)).toThrow(TaskLimitError)
  })

  it('delegates at most maxDepth levels deep', () => {
    const family = new TaskFamily()
    family.take(1, 4)
    expect(() => family.take(1, 5)).toThrow('6 levels deep, and 5 are allowed')
    expect(() => new TaskFamily({ maxDepth: 0 }).take(1, 0)).toThrow('1 levels deep')
  })
})

describe('Slots', () => {
  it('runs a limited number at a time, in order, also when one fails or leaves', async () => {
    const slots = new Slots(2)
    const order: string[] = []
    const open: (() => void)[] = []
    const never = new AbortController()
    const work = (name: string, signal = never.signal, fails = false) =>
      slots.run(signal, async () => {
        order.push(name)
        await new Promise<void>((resolve) => open.push(resolve))
        if (fails) throw new Error(name)
      })
    const leaving = new AbortController()
    const first = work('a', never.signal, true)
    const others = [work('b'), work('c', leaving.signal), work('d')]
    await new Promise(setImmediate)
    expect(order).toEqual(['a', 'b'])
    leaving.abort(new Error('left'))
    await expect(others[1]).rejects.toThrow('left')
    open.shift()?.()
    await expect(first).rejects.toThrow('a')
    await new Promise(setImmediate)
    expect(order).toEqual(['a', 'b', 'd'])
    for (const finish of open) finish()
    await Promise.all([others[0], others[2]])
    await expect(slots.run(leaving.signal, async () => undefined)).rejects.toThrow('left')
  })
})
