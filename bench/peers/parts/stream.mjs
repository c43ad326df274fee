// A long answer in small pieces, through to a reader.
import { growthExponent } from '../../measure.mjs'
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, withField } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function deltas(setting) {
  return withField(setting, async (field) => {
    const sizes = setting.quick ? [2_000, 20_000] : [200, 2_000, 20_000]
    /** @type {import('./part.mjs').AtSize[]} */
    const bySize = []
    for (const size of sizes) {
      const options = { turns: setting.quick ? 3 : 9, warmUps: 2, within: 90 }
      bySize.push({ size, rows: await takeTurns(field, { plan: `deltas-${size}` }, options) })
    }
    const rows = bySize.at(-1)?.rows ?? []
    const exponent = growthExponent(
      bySize.map(({ size, rows }) => ({ size, value: measured(rows, 'capstan')?.cpu.median ?? Number.NaN })),
    )
    return {
      areas: [
        turnsArea(
          'deltas',
          'Pieces of text',
          'An answer of 20,000 pieces of text through to a reader.',
          rows,
        ),
        growthArea(
          {
            part: 'deltas-growth',
            title: 'Growth with the pieces of an answer',
            explanation: 'ms CPU of one answer of so many pieces.',
          },
          bySize,
        ),
      ],
      targets: [
        {
          name: '20,000 pieces of text to a reader',
          unit: 'times the bare loop',
          most: 3,
          found: measured(rows, 'capstan')?.ratio.median ?? Number.NaN,
        },
        ...againstPeers('20,000 pieces of text', rows),
        { name: 'growth of events with their number', unit: 'exponent', most: 1.1, found: exponent },
      ],
    }
  })
}
