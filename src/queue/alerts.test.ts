import { describe, expect, it } from 'vitest'
import { DepthAlerts } from './alerts.js'

/** The level of the alert at each depth of one lane, in this order. */
const levels = (warning: number, ...depths: readonly number[]): (string | undefined)[] => {
  const alerts = new DepthAlerts(warning)
  return depths.map((waiting) => alerts.see('query', waiting)?.level)
}

describe('DepthAlerts', () => {
  it('warns once at the limit, and is critical once at twice the limit', () => {
    expect(levels(10, 9, 10, 15, 20, 40)).toEqual([undefined, 'warning', undefined, 'critical', undefined])
  })

  it('is critical at once when a lane fills in one step', () => {
    expect(levels(10, 25, 12)).toEqual(['critical', undefined])
  })

  it('warns again only after fewer than half of the limit waited', () => {
    expect(levels(10, 10, 5, 10)).toEqual(['warning', undefined, undefined])
    expect(levels(10, 10, 4, 10)).toEqual(['warning', undefined, 'warning'])
  })

  it('watches each lane by itself, and names the lane and the number of calls', () => {
    const alerts = new DepthAlerts(2)
    alerts.see('query', 2)
    expect(alerts.see('execute', 3)).toMatchObject({
      alertType: 'queue_depth',
      lane: 'execute',
      message: expect.stringMatching(/^3 .*'execute'/),
    })
  })
})
