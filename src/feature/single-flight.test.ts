import { describe, expect, it } from 'vitest'
import { SingleFlight } from './single-flight.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('looking together', () => {
  it('looks once for all who ask before it has begun', async () => {
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

  it('looks again for a caller that asks once a look has started, also before that one has ended', async () => {
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

  it('sees a change between two calls of the same turn, because it looks after both', async () => {
    const place = new SingleFlight<string>()
    let says = 'before'
    const first = place.ask('a', () => says)
    says = 'after'
    expect(await Promise.all([first, place.ask('a', () => says)])).toEqual(['after', 'after'])
  })

  it('keeps different questions apart', async () => {
    const place = new SingleFlight<string>()
    const found = ['a', 'b', 'a'].map((key) => place.ask(key, () => `found ${key}`))
    expect(await Promise.all(found)).toEqual(['found a', 'found b', 'found a'])
  })

  it('rejects for all of them when it fails, and looks again for the next', async () => {
    const place = new SingleFlight<string>()
    const fail = (): string => {
      throw new Error('no')
    }
    const failed = await Promise.allSettled([place.ask('a', fail), place.ask('a', fail)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await place.ask('a', () => 'yes')).toBe('yes')
  })
})
