import { describe, expect, it } from 'vitest'
import { areaFiles } from '../../bench/areas.mjs'
import { budgets, budgetsFound } from '../../bench/budgets.mjs'
import { barChart } from '../../bench/draw.mjs'
import { filledPage } from '../../bench/tables.mjs'

const spread = (median: number) => ({ median, p10: median / 2, p90: median * 2, p99: median * 3 })

describe('a chart', () => {
  const of = (row: { value: number }) => row.value

  it('shows an impossible measurement with its reason, and not as zero', () => {
    const svg = barChart({ title: 'Rounds', unit: 'times', of }, [
      { name: 'fetch', title: 'fetch', value: 1 },
      { name: 'other', title: 'a < b', cannot: 'it always streams' },
    ])
    expect(svg).toContain('a &lt; b')
    expect(svg).toContain('>cannot: it always streams<')
  })

  it('keeps the proportion of bars, until the shortest would be invisible', () => {
    const widths = (values: number[]) => {
      const rows = values.map((value) => ({ name: 'one', title: 'one', value }))
      const svg = barChart({ title: 'Rounds', unit: 'times', of }, rows)
      return [...svg.matchAll(/width="([\d.]+)" height="16"/g)].map(([, width]) => Number(width))
    }
    const [short = 0, long = 0] = widths([1, 4])
    expect(long / short).toBeCloseTo(4)
    const [least = 0, most = 0] = widths([1, 10_000])
    expect(most / least).toBeLessThan(20)
    expect(most).toBeGreaterThan(least)
  })
})

describe('the page of figures', () => {
  const run = {
    date: '2026-01-02T03:04:05.000Z',
    machine: { node: 'v20.20.2', cpu: 'some', cores: 2 },
    results: [
      {
        name: 'peers',
        targets: [
          { name: 'one round, everything on, record in files', unit: 'times', most: 1.5, found: 1.25 },
        ],
        areas: [
          {
            part: 'rounds',
            kind: 'turns',
            title: 'Rounds',
            explanation: 'Some rounds.',
            rows: [
              {
                name: 'capstan',
                title: 'capstan',
                ratio: spread(1.25),
                cpu: spread(2),
                wall: spread(3),
                wallRatio: spread(1.1),
                facts: {},
              },
              { name: 'other', title: 'other', cannot: 'it has none' },
            ],
          },
        ],
      },
      {
        name: 'loop',
        areas: [{ title: 'A', explanation: 'B.', rows: [{ name: 'one', millis: spread(4) }] }],
      },
    ],
  }

  it('is filled between its marks and nowhere else, any number of times', () => {
    const page = [
      'before',
      '<!-- bench:peers-rounds -->',
      'old',
      '<!-- bench:end -->',
      'between',
      '<!-- bench:loop -->',
      '<!-- bench:end -->',
      '<!-- bench:queue -->',
      'kept',
      '<!-- bench:end -->',
      'after',
    ].join('\n')
    const { text, filled, left } = filledPage(page, run)
    expect(filled).toEqual(['peers-rounds', 'loop'])
    expect(left).toEqual(['queue'])
    expect(text).toContain('| **capstan** | 1.25 | 0.625 to 2.50 | 2.00 | 1.10 | 3.00 |')
    expect(text).toContain('Cannot: other (it has none).')
    expect(text).toContain('| one | 4.00 (2.00 to 8.00) |')
    expect(text).not.toContain('old')
    for (const kept of ['before', 'between', 'kept', 'after']) expect(text).toContain(kept)
    expect(filledPage(text, run).text).toBe(text)
  })

  it('reports the result of every budget, and what this run did not measure', () => {
    const { text } = filledPage('<!-- bench:budgets -->\n<!-- bench:end -->', run)
    expect(text).toContain('1.25 times, at most 1.5 | met |')
    expect(text).toContain('footprint: packages installed | not in this run |')
  })
})

describe('a budget', () => {
  it('is measured in an existing area', () => {
    const areas = [...areaFiles().keys()]
    const places = budgets.flatMap(({ places }) => places)
    for (const { area } of places) expect(areas).toContain(area)
  })

  it('is found by the name of its target', () => {
    const results = [
      { name: 'command', targets: [{ name: 'command: --version', unit: 'times', most: 1.6, found: 2 }] },
    ]
    const found = budgetsFound(results).filter(({ target }) => target !== undefined)
    expect(found.map(({ area, target }) => [area, target?.met])).toEqual([['command', false]])
  })
})
