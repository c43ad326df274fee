import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { type Lane, laneNames } from '../tool/lane.js'
import { readQueueConfig } from './config.js'
import type { Room } from './engine.js'
import { Lanes } from './lanes.js'

const urgencyOf = (lane: Lane): number => laneNames.indexOf(lane)

async function enter(
  lanes: Lanes,
  lane: Lane,
  priority = urgencyOf(lane),
  signal?: AbortSignal,
): Promise<Room> {
  const room = await lanes.enter({ lane, priority, ...(signal !== undefined && { signal }) })
  if (room === undefined) throw new Error('no room')
  return room
}

describe('lanes', () => {
  it('admit no more calls than each lane, and all together, have room for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...laneNames), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (calls, maxConcurrency) => {
          const lanes = new Lanes(readQueueConfig({ maxConcurrency, executeConcurrency: 2 }))
          let active = 0
          let most = 0
          const inLane = new Map<Lane, number>()
          await Promise.all(
            calls.map(async (lane) => {
              const room = await enter(lanes, lane)
              most = Math.max(most, ++active)
              inLane.set(lane, Math.max(inLane.get(lane) ?? 0, lanes.depth(lane).active))
              await null
              active--
              room.leave()
            }),
          )
          expect(most).toBeLessThanOrEqual(maxConcurrency)
          expect(inLane.get('execute') ?? 0).toBeLessThanOrEqual(2)
          for (const lane of laneNames) expect(lanes.depth(lane)).toEqual({ waiting: 0, active: 0 })
        },
      ),
      { numRuns: propertyRuns(40) },
    )
  })

  it('admit urgent calls first', async () => {
    const lanes = new Lanes(readQueueConfig({ maxConcurrency: 1, ageingMs: 60_000 }))
    const first = await enter(lanes, 'execute')
    const order: string[] = []
    const waiting = (['generate', 'execute', 'query', 'control'] as const).map(async (lane) => {
      const room = await enter(lanes, lane)
      order.push(lane)
      room.leave()
    })
    first.leave()
    await Promise.all(waiting)
    expect(order).toEqual(['control', 'query', 'execute', 'generate'])
  })

  it('admit the least urgent call in the end, even when urgent ones keep coming', async () => {
    const ageingMs = 5
    const lanes = new Lanes(readQueueConfig({ maxConcurrency: 1, controlConcurrency: 100, ageingMs }))
    const first = await enter(lanes, 'control')
    let served = 0
    let done = false
    const pressing = async (): Promise<void> => {
      // The next one is there before this one has left: without ageing no other would ever have a turn.
      while (!done) {
        const room = await enter(lanes, 'control')
        served++
        await new Promise((resolve) => setTimeout(resolve, 1))
        room.leave()
      }
    }
    const crowd = Array.from({ length: 8 }, pressing)
    const low = enter(lanes, 'generate')
    first.leave()
    ;(await low).leave()
    done = true
    await Promise.all(crowd)
    expect(served).toBeGreaterThan(3)
  })

  it('stop waiting when the signal is aborted, and take no slot then', async () => {
    const lanes = new Lanes(readQueueConfig({ generateConcurrency: 1 }))
    const first = await enter(lanes, 'generate')
    const stop = new AbortController()
    const given = lanes.enter({ lane: 'generate', priority: 0, signal: stop.signal })
    const waiting = lanes.enter({ lane: 'generate', priority: 9 })
    stop.abort()
    expect(await given).toBeUndefined()
    expect(lanes.depth('generate')).toEqual({ waiting: 1, active: 1 })
    first.leave()
    ;(await waiting)?.leave()
    expect(lanes.depth('generate')).toEqual({ waiting: 0, active: 0 })
  })

  it('respect a rate limit', async () => {
    const rateLimit = { limitType: 'per_second', maxOperations: 5 }
    const lanes = new Lanes(readQueueConfig({ queryConcurrency: 50, rateLimit }))
    let begun = 0
    const waiting = Array.from({ length: 8 }, async () => {
      const room = await lanes.enter({ lane: 'query', priority: 1 })
      if (room !== undefined) begun++
      room?.leave()
    })
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(begun).toBe(5)
    lanes.close()
    await Promise.all(waiting)
    expect(begun).toBe(5)
  })
})
