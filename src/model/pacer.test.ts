import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ModelEvent } from './model.js'
import { type Pace, Pacer, type RateLimit } from './pacer.js'

/** A clock that moves only when something sleeps. */
function clock(): { now(): number; sleep(ms: number): Promise<void> } {
  let now = 0
  return {
    now: () => now,
    async sleep(ms) {
      // After everything that does not sleep.
      await new Promise<void>((resolve) => setImmediate(resolve))
      now += ms
    },
  }
}

const call = (on: (event: ModelEvent) => void = () => undefined) => ({
  signal: new AbortController().signal,
  on,
})
const headers = (given: Record<string, string>) => ({ get: (name: string) => given[name] ?? null })

/** A clock that does not move. */
const stopped = { now: () => 0, sleep: () => new Promise<void>(() => undefined) }

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Those that were admitted by now. */
async function sentOf(all: readonly (Pace | Promise<Pace>)[]): Promise<Pace[]> {
  const sent: Pace[] = []
  for (const one of all) void Promise.resolve(one).then((pace) => sent.push(pace))
  await new Promise<void>((resolve) => setImmediate(resolve))
  return sent
}

/** When each of so many requests of this size is sent. */
async function sentAt(limit: RateLimit, count: number, tokens = 0): Promise<number[]> {
  const time = clock()
  const pacer = new Pacer(limit, time)
  const at: number[] = []
  await Promise.all(
    Array.from({ length: count }, async () => {
      await pacer.admit(() => tokens, call())
      at.push(time.now())
    }),
  )
  return at
}

describe('requests to a model with a rate limit', () => {
  it('are limited to the configured number in each minute, in their order', async () => {
    const at = await sentAt({ requestsPerMinute: 10 }, 25)
    for (const start of at)
      expect(at.filter((one) => one >= start && one < start + 60_000).length).toBeLessThanOrEqual(10)
    expect(at.filter((one) => one === 0)).toHaveLength(10)
    expect(at.at(-1)).toBe(120_000)
  })

  it('are limited to the configured tokens in each minute, and a larger one is sent alone', async () => {
    expect(await sentAt({ tokensPerMinute: 1_000 }, 6, 400)).toEqual([0, 0, 60_000, 60_000, 120_000, 120_000])
    expect(await sentAt({ tokensPerMinute: 1_000 }, 3, 5_000)).toEqual([0, 60_000, 120_000])
  })

  it('report that they wait, with the time that is known', async () => {
    const time = clock()
    const pacer = new Pacer({ requestsPerMinute: 1 }, time)
    const events: ModelEvent[] = []
    const note = call((event) => events.push(event))
    await pacer.admit(() => 0, note)
    expect(events).toEqual([])
    await time.sleep(10_000)
    await pacer.admit(() => 0, note)
    expect(events).toEqual([{ type: 'rate_limit_wait', waitMs: 50_000 }])
  })

  it('count the tokens that they actually used', async () => {
    const time = clock()
    const pacer = new Pacer({ tokensPerMinute: 1_000 }, time)
    ;(await pacer.admit(() => 900, call())).ended(100)
    await pacer.admit(() => 900, call())
    expect(time.now()).toBe(0)
  })

  it.each([
    ['OpenAI', { 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-reset-requests': '1m2.5s' }, 60_000],
    ['Groq', { 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-reset-requests': '7.66s' }, 7_660],
    [
      'a server with seconds',
      { 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-reset-requests': '3' },
      3_000,
    ],
  ])('wait when a response of %s says that nothing is left', async (_name, given, resetMs) => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const first = await pacer.admit(() => 0, call())
    // This one was sent before the response, and is not counted in it.
    await pacer.admit(() => 0, call())
    first.heard(headers(given))
    await pacer.admit(() => 0, call())
    expect(time.now()).toBe(0)
    await pacer.admit(() => 0, call())
    expect(time.now()).toBe(resetMs)
  })

  it('all wait when one of them was rate-limited', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    ;(await pacer.admit(() => 0, call())).limited(9_000)
    await pacer.admit(() => 0, call())
    expect(time.now()).toBe(9_000)
  })

  it('are few until a response has stated the limits, and then as many as it allows', async () => {
    const pacer = new Pacer({}, stopped)
    const events: ModelEvent[] = []
    const all = Array.from({ length: 50 }, () =>
      pacer.admit(
        () => 0,
        call((event) => events.push(event)),
      ),
    )
    const sent = await Promise.all(all.filter((one) => !(one instanceof Promise)))
    expect(sent).toHaveLength(8)
    expect(events).toEqual([])
    sent[0]?.heard(headers({ 'x-ratelimit-remaining-requests': '30', 'x-ratelimit-reset-requests': '9s' }))
    await turns(50)
    expect(await sentOf(all)).toHaveLength(31)
    expect(events).toEqual(Array(19).fill({ type: 'rate_limit_wait', waitMs: 9_000 }))
  })

  it('report a wait for the responses of others once none has arrived for a second', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const events: ModelEvent[] = []
    const sent = await sentOf(Array.from({ length: 8 }, () => pacer.admit(() => 0, call())))
    const waiting = Array.from({ length: 3 }, () =>
      pacer.admit(
        () => 0,
        call((event) => events.push(event)),
      ),
    )
    sent[0]?.heard(headers({}))
    await Promise.resolve()
    expect(events).toEqual([])
    expect(await sentOf(waiting)).toHaveLength(1)
    await turns(1)
    expect(time.now()).toBeGreaterThanOrEqual(1_000)
    expect(events).toEqual(Array(2).fill({ type: 'rate_limit_wait', waitMs: 1_000 }))
  })

  it('with a sleep of the host are sent when that ends, and once', async () => {
    const pacer = new Pacer({ requestsPerMinute: 1 }, stopped)
    const first = await pacer.admit(() => 0, call())
    let wake: () => void = () => undefined
    const slept: number[] = []
    const sleep = (ms: number) => {
      slept.push(ms)
      return new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const second = pacer.admit(() => 0, { ...call(), retry: { sleep } })
    first.ended(0)
    await turns(2)
    expect(slept).toEqual([60_000])
    wake()
    await second
    expect(slept).toEqual([60_000])
  })

  it.each([
    ['twice as many with each round of responses', 500, [8, 24, 56, 100]],
    ['as many at a time as before where responses are fast', 5, [8, 16, 24, 32]],
  ])('of a provider that states no limits are %s', async (_name, responseMs, expected) => {
    let now = 0
    const pacer = new Pacer({}, { ...stopped, now: () => now })
    // Requests one after the other say nothing about many at once.
    for (let at = 0; at < 20; at++) {
      const pace = await pacer.admit(() => 0, call())
      now += responseMs
      pace.heard(headers({}))
    }
    const all = Array.from({ length: 100 }, () => pacer.admit(() => 0, call()))
    const counts: number[] = []
    for (let heard = 0; counts.length < 4; heard = counts.at(-1) ?? 0) {
      const sent = await sentOf(all)
      counts.push(sent.length)
      now += responseMs
      for (const pace of sent.slice(heard)) pace.heard(headers({}))
      await turns(100)
    }
    expect(counts).toEqual(expected)
  })

  it('wait before a retry when others were rate-limited in the meantime', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const [first, second] = [call(), call()]
    const early = await pacer.admit(() => 0, first)
    early.limited(1_000)
    early.ended(undefined)
    const late = await pacer.admit(() => 0, second)
    expect(time.now()).toBe(1_000)
    late.limited(5_000)
    late.ended(undefined)
    await pacer.admit(() => 0, first)
    expect(time.now()).toBe(6_000)
  })

  it('make room for another when they end without a response', async () => {
    const pacer = new Pacer({}, stopped)
    const all = Array.from({ length: 10 }, () => pacer.admit(() => 0, call()))
    const [first, second] = await sentOf(all)
    first?.ended(undefined)
    second?.ended(undefined)
    await turns(10)
    expect(await sentOf(all)).toHaveLength(10)
  })

  it('reduce the number of later ones once when they are rate-limited together, and a retry does not wait', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const calls = Array.from({ length: 8 }, () => call())
    for (const pace of await Promise.all(calls.map((one) => pacer.admit(() => 0, one)))) {
      pace.limited(1_000)
      pace.ended(undefined)
    }
    const again = calls.map((one) => pacer.admit(() => 0, one))
    expect(again.map((one) => one instanceof Promise)).toEqual([
      ...Array(4).fill(false),
      ...Array(4).fill(true),
    ])
    expect(time.now()).toBe(0)
  })

  it('are few at a time after a provider that states no limits has refused one', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const first = await pacer.admit(() => 0, call())
    first.heard(headers({}))
    first.limited(1_000)
    first.ended(undefined)
    const sent: number[] = []
    const waiting = Array.from({ length: 20 }, async () => {
      await pacer.admit(() => 0, call())
      sent.push(time.now())
    })
    for (let turn = 0; turn < 100; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
    // Without a response for five seconds they delay no others.
    expect(sent.slice(0, 9)).toEqual([...Array(4).fill(1_000), ...Array(4).fill(6_000), 11_000])
    expect(waiting).toHaveLength(20)
  })

  it('count after a reset when they were sent just before it and have no response', async () => {
    const time = clock()
    const pacer = new Pacer({}, time)
    const first = await pacer.admit(() => 0, call())
    first.heard(
      headers({
        'x-ratelimit-limit-requests': '3',
        'x-ratelimit-remaining-requests': '2',
        'x-ratelimit-reset-requests': '1s',
      }),
    )
    const late = [await pacer.admit(() => 0, call()), await pacer.admit(() => 0, call())]
    expect(late).toHaveLength(2)
    await pacer.admit(() => 0, call())
    expect(time.now()).toBe(1_000)
    await new Promise<void>((resolve) => setImmediate(resolve))
    // Two of three can have arrived after the reset, and one was sent since.
    expect(pacer.admit(() => 0, call())).toBeInstanceOf(Promise)
  })

  it('leave room for tokens that the provider counts and the estimate does not', async () => {
    const pacer = new Pacer({}, clock())
    const first = await pacer.admit(() => 0, call())
    first.heard(headers({ 'x-ratelimit-remaining-tokens': '1000', 'x-ratelimit-reset-tokens': '9s' }))
    const next = Array.from({ length: 4 }, () => pacer.admit(() => 250, call()))
    expect(next.map((one) => one instanceof Promise)).toEqual([false, false, false, true])
  })

  it('leave no listener for each response that arrives while they wait', async () => {
    const pacer = new Pacer({ requestsPerMinute: 12 })
    const sent = await Promise.all(Array.from({ length: 12 }, () => pacer.admit(() => 0, call())))
    const waiting = new AbortController()
    const last = pacer.admit(() => 0, { ...call(), signal: waiting.signal })
    for (const pace of sent) {
      pace.ended(0)
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    expect(getEventListeners(waiting.signal, 'abort').length).toBeLessThanOrEqual(2)
    waiting.abort(new Error('enough'))
    await expect(last).rejects.toThrow('enough')
    expect(getEventListeners(waiting.signal, 'abort')).toEqual([])
  })

  it('are not sent when they are cancelled while they wait, and those after them are', async () => {
    const time = clock()
    const pacer = new Pacer({ requestsPerMinute: 1 }, { now: time.now, sleep: (ms) => time.sleep(ms) })
    await pacer.admit(() => 0, call())
    const cancelled = new AbortController()
    const second = pacer.admit(() => 0, { ...call(), signal: cancelled.signal })
    const third = pacer.admit(() => 0, call())
    cancelled.abort(new Error('not needed any more'))
    await expect(second).rejects.toThrow('not needed any more')
    await third
    expect(time.now()).toBe(60_000)
  })
})
