import { describe, expect, it } from 'vitest'
import { LaneMetrics } from './metrics.js'

const empty = () => ({ waiting: 0, active: 0 })

describe('LaneMetrics', () => {
  it('counts each event for all lanes and for its lane', () => {
    const metrics = new LaneMetrics()
    metrics.count('submitted', 'query')
    metrics.count('submitted', 'execute')
    metrics.count('failed', 'query')
    expect(metrics.figures(empty, 0).counters).toEqual({
      'lane.commands.submitted': 2,
      'lane.commands.submitted.query': 1,
      'lane.commands.submitted.execute': 1,
      'lane.commands.failed': 1,
      'lane.commands.failed.query': 1,
    })
  })

  it('reports the depth of every lane when it is queried', () => {
    const { gauges } = new LaneMetrics().figures(
      (lane) => (lane === 'execute' ? { waiting: 3, active: 2 } : { waiting: 0, active: 0 }),
      4,
    )
    expect(gauges).toMatchObject({
      'lane.external.pending': 4,
      'lane.queue.depth.execute': 3,
      'lane.queue.active.execute': 2,
      'lane.queue.depth.control': 0,
      'lane.queue.active.generate': 0,
    })
  })

  it('reports times in milliseconds, with an exact sum and percentiles within a hundredth', () => {
    const metrics = new LaneMetrics()
    for (let ms = 1; ms <= 100; ms++) metrics.time('duration_ms', 'query', ms)
    const times = metrics.figures(empty, 0).histograms['lane.commands.duration_ms.query']
    expect(times).toMatchObject({ count: 100, sum: 5_050, mean: 50.5 })
    for (const [found, wanted] of [
      [times?.p50, 50],
      [times?.p90, 90],
      [times?.p99, 99],
      [times?.max, 100],
    ] as const)
      expect(Math.abs((found ?? 0) - wanted) / wanted).toBeLessThan(0.011)
  })

  it('accepts a duration of zero, and one of more than a day', () => {
    const metrics = new LaneMetrics()
    metrics.time('wait_ms', 'query', 0)
    metrics.time('wait_ms', 'query', 1e12)
    const times = metrics.figures(empty, 0).histograms['lane.commands.wait_ms.query']
    expect(times?.count).toBe(2)
    expect(times?.sum).toBe(1e12)
  })
})
