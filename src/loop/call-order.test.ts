import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JudgedSubject } from '../authority/call.js'
import { CallOrder, type CallSlot } from './call-order.js'

type Claim = { reads?: readonly string[]; writes?: readonly string[]; command?: boolean; alone?: boolean }

/** Only the fields that an order reads. */
function subjectsOf({ reads = [], writes = [], command }: Claim): JudgedSubject[] {
  const path = (fs: 'read' | 'write', at: string): JudgedSubject =>
    ({ kind: 'path', fs, path: { path: at }, origin: 'tool', inside: true }) as unknown as JudgedSubject
  return [
    ...reads.map((at) => path('read', at)),
    ...writes.map((at) => path('write', at)),
    ...(command === true ? [{ kind: 'command', unit: {}, doubts: [] } as unknown as JudgedSubject] : []),
  ]
}

const within = (one: string, other: string): boolean => one === other || one.startsWith(`${other}/`)
const meet = (some: readonly string[] = [], others: readonly string[] = []): boolean =>
  some.some((one) => others.some((other) => within(one, other) || within(other, one)))
const touches = ({ reads = [], writes = [], command, alone }: Claim): boolean =>
  command === true || alone === true || reads.length + writes.length > 0
function conflict(one: Claim, other: Claim): boolean {
  if (one.command || other.command || one.alone || other.alone) return touches(one) && touches(other)
  return meet(one.writes, other.writes) || meet(one.writes, other.reads) || meet(one.reads, other.writes)
}

/** What a call of these tests returns. */
type Ended = { at: number; said?: string; fatal?: Error }

/** Makes calls in one order, as a round does. */
async function callInOrder<Item, Result extends { readonly fatal?: unknown }>(
  items: readonly Item[],
  maxAtOnce: number,
  call: (item: Item, slot: CallSlot, over: boolean) => Promise<Result>,
): Promise<Result[]> {
  const order = new CallOrder(maxAtOnce)
  const callOne = async (item: Item): Promise<Result> => {
    const slot = order.add()
    try {
      const result = await call(item, slot, !(await slot.enter()))
      if (result.fatal !== undefined) order.end()
      return result
    } finally {
      slot.exit()
    }
  }
  return Promise.all(items.map(callOne))
}

const tick = (turns: number): Promise<void> =>
  turns === 0
    ? Promise.resolve()
    : new Promise<void>((resolve) => setImmediate(resolve)).then(() => tick(turns - 1))

describe('the calls of one round', () => {
  it('never run at once when they conflict, run in their order then, and all run', async () => {
    const path = fc.constantFrom('/w', '/w/a', '/w/ab', '/w/a/x', '/w/b')
    const paths = fc.array(path, { maxLength: 2 })
    const call = fc.record({
      claim: fc.record({
        reads: paths,
        writes: paths,
        command: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
        alone: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
      }),
      /** Ticks until it states what it touches, and ticks of work. */
      thinks: fc.nat(3),
      works: fc.nat(3),
      /** Some end before they have stated what they touch. */
      refused: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { maxLength: 8 }),
        fc.integer({ min: 0, max: 5 }),
        async (calls, maxAtOnce) => {
          const running = new Set<number>()
          const started: number[] = []
          let active = 0
          let maxActive = 0
          const results = await callInOrder(
            calls.map((one, at) => ({ ...one, at })),
            maxAtOnce,
            async ({ claim, thinks, works, refused, at }, slot): Promise<Ended> => {
              maxActive = Math.max(maxActive, ++active)
              await tick(thinks)
              if (!refused) {
                slot.announce(subjectsOf(claim), claim.alone)
                expect(await slot.turn()).toBe(true)
                for (const other of running) expect(conflict(claim, calls[other]?.claim ?? {})).toBe(false)
                running.add(at)
                started.push(at)
                await tick(works)
                running.delete(at)
              }
              active--
              return { at }
            },
          )
          expect(results.map(({ at }) => at)).toEqual(calls.map((_, at) => at))
          expect([...started].sort((a, b) => a - b)).toEqual(
            calls.flatMap(({ refused }, at) => (refused ? [] : [at])),
          )
          for (const [index, later] of started.entries())
            for (const earlier of started.slice(index + 1))
              if (earlier < later)
                expect(conflict(calls[earlier]?.claim ?? {}, calls[later]?.claim ?? {})).toBe(false)
          expect(maxActive).toBeLessThanOrEqual(Math.max(1, maxAtOnce))
        },
      ),
    )
  })

  it.each<[string, Claim, Claim, boolean]>([
    ['two that read', { reads: ['/w/a'] }, { reads: ['/w/a'] }, true],
    ['two that write different files', { writes: ['/w/a'] }, { writes: ['/w/b'] }, true],
    ['one and another of a longer name', { writes: ['/w/a'] }, { writes: ['/w/ab'] }, true],
    ['a command and one that touches no file', { command: true }, {}, true],
    ['two that touch no file', {}, {}, true],
    ['two that write one file', { writes: ['/w/a'] }, { writes: ['/w/a'] }, false],
    ['one that reads what the other writes', { writes: ['/w/a'] }, { reads: ['/w/a'] }, false],
    ['one that writes what the other reads', { reads: ['/w'] }, { writes: ['/w/a/b'] }, false],
    ['everything under the root', { reads: ['/'] }, { writes: ['/w'] }, false],
    ['a command and one that reads', { command: true }, { reads: ['/w/a'] }, false],
    ['two commands', { command: true }, { command: true }, false],
    ['one that wants to be alone', { alone: true }, { reads: ['/w/a'] }, false],
  ])('%s', async (_, first, second, atOnce) => {
    let both = false
    let running = 0
    await callInOrder([first, second], 2, async (claim, slot) => {
      slot.announce(subjectsOf(claim), claim.alone === true)
      await slot.turn()
      running++
      both ||= running === 2
      await tick(3)
      running--
      return {}
    })
    expect(both).toBe(atOnce)
  })

  it('wait for earlier calls that have not yet stated what they touch', async () => {
    const order: string[] = []
    await callInOrder(['slow', 'quick'], 2, async (name, slot) => {
      if (name === 'slow') await tick(5)
      slot.announce(subjectsOf({ writes: [`/w/${name}`] }), false)
      await slot.turn()
      order.push(name)
      return {}
    })
    expect(order).toEqual(['slow', 'quick'])
  })

  it('do not start after one of them has ended the round, and each has a result', async () => {
    const started: number[] = []
    const results = await callInOrder([0, 1, 2, 3], 2, async (at, slot, over): Promise<Ended> => {
      if (over) return { at, said: 'over' }
      slot.announce(subjectsOf({ writes: ['/w/same'] }), false)
      if (!(await slot.turn())) return { at, said: 'ended' }
      started.push(at)
      return { at, said: 'ran', ...(at === 0 && { fatal: new Error('stop') }) }
    })
    expect(started).toEqual([0])
    expect(results.map(({ said }) => said)).toEqual(['ran', 'ended', 'over', 'over'])
  })

  it('do not block others when they fail', async () => {
    const ran: number[] = []
    const calls = callInOrder([0, 1], 2, async (at, slot) => {
      slot.announce(subjectsOf({ writes: ['/w/same'] }), false)
      await slot.turn()
      if (at === 0) throw new Error('broken')
      ran.push(at)
      return {}
    })
    await expect(calls).rejects.toThrow('broken')
    await tick(2)
    expect(ran).toEqual([1])
  })

  it('can be empty', async () => {
    expect(await callInOrder([], 4, () => Promise.reject(new Error('never')))).toEqual([])
  })
})
