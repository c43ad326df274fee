// A tool among a thousand: found and called, against sending the definitions of all of them with every request.
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, withSides } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function search(setting) {
  return withSides('search', setting, async (field) => {
    /** @type {import('./part.mjs').AtSize[]} */
    const bySize = []
    for (const size of setting.quick ? [100, 1_000] : [10, 100, 1_000, 10_000]) {
      const times = size > 1_000 ? 1 : 5
      const turns = setting.quick ? 2 : size > 1_000 ? 3 : 7
      const options = {
        turns,
        warmUps: setting.quick || size > 1_000 ? 1 : 8,
        pieces: times,
        needs: 'search',
      }
      bySize.push({ size, rows: await takeTurns(field, { what: 'search', size, times }, options) })
    }
    const rows = bySize.find(({ size }) => size === 1_000)?.rows ?? []
    const bytes = (/** @type {string} */ name) => measured(rows, name)?.facts['KB sent'] ?? Number.NaN
    const explanation = 'ms CPU of that run with so many tools.'
    return {
      areas: [
        turnsArea(
          'search',
          'One tool of 1,000',
          'A run that finds one tool of 1,000, calls it and answers, in a new session; the first row sends all definitions with every request.',
          rows,
          ['requests', 'KB sent'],
        ),
        growthArea({ part: 'search-growth', title: 'Growth with the number of tools', explanation }, bySize),
      ],
      targets: [
        {
          name: 'bytes sent to use one tool of 1,000',
          unit: 'times sending all definitions',
          most: 0.25,
          found: bytes('capstan') / bytes('fetch'),
        },
        ...againstPeers('one tool of 1,000', rows),
      ],
    }
  })
}
