import { describe, expect, it } from 'vitest'
import { SingleFlight } from './single-flight.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('SingleFlight', () => {
  it('reads once for all callers that ask before the read starts', async () => {
    const place = new SingleFlight<object>()
    let looks = 0
    const look = async (): Promise<object> => ({ look: ++looks })
    const asked = Array.from({ length: 50 }, () => place.ask('a', look))
    // Also those that ask in another step of the same turn.
    const later = Promise.all(Array.from({ length: 50 }, async () => place.ask('a', look)))
    const found = await Promise.all([...asked, ...(await later)])
    expect(new Set(found).size).toBe(1)
    expect(looks).toBe(1)
  })

  it('reads again for a caller that asks after a read has started, also before it has ended', async () => {
    const place = new SingleFlight<string>()
    let says = 'before'
    let begun = (): void => undefined
    const first = new Promise<void>((resolve) => {
      begun = resolve
    })
    const early = place.ask('a', async () => {
      const seen = says
      begun()
      await turn()
      return seen
    })
    await first
    says = 'after'
    expect(await place.ask('a', () => says)).toBe('after')
    expect(await early).toBe('before')
  })

  it('sees a change between two calls of the same tick, because it reads after both', async () => {
    const place = new SingleFlight<string>()
    let says = 'before'
    const first = place.ask('a', () => says)
    says = 'after'
    expect(await Promise.all([first, place.ask('a', () => says)])).toEqual(['after', 'after'])
  })

  it('separates different keys', async () => {
    const place = new SingleFlight<string>()
    const found = ['a', 'b', 'a'].map((key) => place.ask(key, () => `found ${key}`))
    expect(await Promise.all(found)).toEqual(['found a', 'found b', 'found a'])
  })

  it('rejects for all callers when it fails, and reads again for the next', async () => {
    const place = new SingleFlight<string>()
    const fail = (): string => {
      throw new Error('no')
    }
    const failed = await Promise.allSettled([place.ask('a', fail), place.ask('a', fail)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await place.ask('a', () => 'yes')).toBe('yes')
  })
})
