import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPartialObjects } from './partial-objects.js'
import { partialIn } from './partial-value.js'

/** The partial objects of a text in pieces of this size, with a clock that advances with every piece. */
function follow(
  text: string,
  size: number,
  stepMs: number,
  wrapped = false,
): { emitted: unknown[]; times: number[] } {
  const emitted: unknown[] = []
  const times: number[] = []
  let now = 0
  const partials = createPartialObjects({
    wrapped,
    now: () => now,
    emit: (value) => {
      emitted.push(structuredClone(value))
      times.push(now)
    },
  })
  for (let at = 0; at < text.length; at += size) {
    now += stepMs
    partials.hear({ text: text.slice(at, at + size) })
  }
  partials.end()
  return { emitted, times }
}

describe('partial objects', () => {
  it('have strings as far as they are received, and everything else only when it is complete', () => {
    const at = (text: string): unknown => partialIn(text, false)?.value
    expect(at('')).toBeUndefined()
    expect(at('{')).toEqual({})
    expect(at('{"na')).toEqual({})
    expect(at('{"name"')).toEqual({})
    expect(at('{"name":"An')).toEqual({ name: 'An' })
    expect(at('{"name":"An\\')).toEqual({ name: 'An' })
    expect(at('{"name":"An\\u00')).toEqual({ name: 'An' })
    expect(at('{"n":12')).toEqual({})
    expect(at('{"n":12,')).toEqual({ n: 12 })
    expect(at('{"b":tr')).toEqual({})
    expect(at('{"b":true')).toEqual({ b: true })
    expect(at('{"a":[1,2')).toEqual({ a: [1] })
    expect(at('Here: ```json\n{"a":[')).toEqual({ a: [] })
    expect(at('<think>{"no":1}')).toBeUndefined()
    expect(at('<think>{"no":1}</think> {"a":"b')).toEqual({ a: 'b' })
  })

  it('are the member of a wrapped object', () => {
    expect(partialIn('{"val', true)).toBeUndefined()
    expect(partialIn('{"value":[1,', true)).toEqual({ value: [1] })
    expect(partialIn('[1,', true)).toEqual({ value: [1] })
  })

  it('are emitted at most every 100 ms, the first at once and the last always', () => {
    const text = JSON.stringify({ words: 'x'.repeat(100) })
    const { emitted, times } = follow(text, 1, 10)
    expect(emitted.at(-1)).toEqual({ words: 'x'.repeat(100) })
    expect(times.length).toBeLessThanOrEqual(14)
    for (const [n, time] of times.slice(1, -1).entries())
      expect(time - (times[n] ?? 0)).toBeGreaterThanOrEqual(100)
    // With a clock that does not advance there are only these two.
    expect(follow(text, 1, 0).emitted).toEqual([{}, { words: 'x'.repeat(100) }])
  })

  it('never lose members, for any JSON in any pieces', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 1, max: 7 }), (value, size) => {
        const text = JSON.stringify({ value })
        fc.pre(!/"(?:__proto__|constructor)"/.test(text))
        const { emitted } = follow(text, size, 100, true)
        for (const [n, partial] of emitted.slice(1).entries()) expect(has(partial, emitted[n])).toBe(true)
        expect(JSON.stringify(emitted.at(-1))).toBe(JSON.stringify(value))
      }),
    )
  })

  it('never remove a value that is written twice', () => {
    expect(follow('{"a":1,"a":2,"b":3}', 1, 100).emitted).toEqual([{}, { a: 1 }])
  })

  it('cannot change prototypes', () => {
    const { emitted } = follow('{"__proto__":{"admin":true},"a":{"__proto__":{"admin":true},"b":1}}', 3, 100)
    expect(emitted.at(-1)).toEqual({ a: { b: 1 } })
    for (const partial of emitted)
      expect(JSON.stringify([partial, Object(partial).admin])).not.toContain('true')
  })

  it('follow the first call, and neither text before it nor calls after it', () => {
    const emitted: unknown[] = []
    const partials = createPartialObjects({
      wrapped: false,
      now: () => 0,
      emit: (value) => void emitted.push(value),
    })
    partials.hear({ text: 'I call {it} now' })
    partials.hear({ text: '{"a":"b"}', callId: 'one' })
    partials.hear({ text: '{"c":1}', callId: 'two' })
    partials.end()
    expect(emitted.at(-1)).toEqual({ a: 'b' })
  })

  it('take work in proportion to the text', () => {
    const text = JSON.stringify({ items: Array.from({ length: 22_000 }, (_, n) => `item number ${n}`) })
    const { emitted } = follow(text, 20, 100)
    const read = emitted.reduce<number>((sum, partial) => sum + JSON.stringify(partial).length, 0)
    expect(text.length).toBeGreaterThan(400_000)
    // 800 parses of a short text, and then one for every eighth that it grows.
    expect(read / text.length).toBeLessThan(40)
  })

  it('of an endlessly nested value stop without an error', () => {
    const { emitted } = follow('['.repeat(50_000), 10_000, 100)
    expect(emitted.length).toBeLessThan(10)
  })

  it('end where their listener fails', () => {
    let emitted = 0
    const partials = createPartialObjects({
      wrapped: false,
      now: () => 0,
      emit: () => {
        emitted++
        throw new Error('gone')
      },
    })
    partials.hear({ text: '{"a":1}' })
    partials.end({ value: { a: 1 } })
    expect(emitted).toBe(1)
  })
})

/** Whether a value has everything that an earlier one had; independent of the tested code. */
function has(after: unknown, before: unknown): boolean {
  if (typeof before === 'string') return String(after).slice(0, before.length) === before
  if (typeof before !== 'object' || before === null) return Object.is(after, before)
  const [later, earlier] = [Object.entries(after ?? {}), Object.entries(before)]
  return earlier.every(([key, member]) => later.some(([other, value]) => other === key && has(value, member)))
}
