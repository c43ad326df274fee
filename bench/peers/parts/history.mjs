// One question on top of a long history.
import { growthExponent } from '../../measure.mjs'
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, withField } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function history(setting) {
  return withField(setting, async (field) => {
    const sizes = setting.quick ? [100, 1_000] : [10, 100, 1_000, 10_000]
    /** @type {import('./part.mjs').AtSize[]} */
    const bySize = []
    for (const size of sizes) {
      const work = { plan: 'answer', history: size, length: 500 }
      bySize.push({
        size,
        rows: await takeTurns(field, work, {
          turns: setting.quick ? 2 : 5,
          within: 90,
          warmUps: size > 1_000 ? 1 : 3,
        }),
      })
    }
    const last = bySize.at(-1)
    const most = last?.size.toLocaleString('en-US')
    const exponent = growthExponent(
      bySize.map(({ size, rows }) => ({ size, value: measured(rows, 'capstan')?.cpu.median ?? Number.NaN })),
    )
    return {
      areas: [
        turnsArea(
          'history',
          'Long history',
          `One question on top of ${most} messages of 500 characters, none seen before.`,
          last?.rows ?? [],
        ),
        growthArea(
          {
            part: 'history-growth',
            title: 'Growth with the history',
            explanation: 'ms CPU of one question on top of so many messages.',
          },
          bySize,
        ),
      ],
      targets: [
        {
          name: `one call on ${most} messages`,
          unit: 'times the bare loop',
          most: 2.5,
          found: measured(last?.rows ?? [], 'capstan')?.ratio.median ?? Number.NaN,
        },
        ...againstPeers('a long history', last?.rows ?? []),
        { name: 'growth with the history', unit: 'exponent', most: 1.1, found: exponent },
      ],
    }
  })
}
