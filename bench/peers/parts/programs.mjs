// Programs that a model writes: what a sandbox costs, and a call out of it.
import { measured, rowsOf, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, withSides } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function programs(setting) {
  const first = await firstPrograms(setting)
  return withSides('programs', setting, async (field) => {
    const { quick } = setting
    const warm = { what: 'calls', size: 100, times: quick ? 1 : 10 }
    await takeTurns(field, warm, { turns: 0, warmUps: quick ? 1 : 5, needs: 'calls' })
    const times = quick ? 3 : 10
    const options = { turns: quick ? 3 : 15, warmUps: 2, pieces: times }
    const fresh = await takeTurns(field, { what: 'fresh', size: 0, times }, { ...options, needs: 'fresh' })
    /** @type {import('./part.mjs').AtSize[]} */
    const bySize = []
    for (const size of quick ? [10, 100] : [10, 100, 1_000])
      bySize.push({
        size,
        rows: await takeTurns(
          field,
          { what: 'calls', size, times: 1 },
          { turns: quick ? 3 : 9, warmUps: 1, pieces: size, needs: 'calls' },
        ),
      })
    const together = await takeTurns(
      field,
      { what: 'together', size: 200, times: 1 },
      { turns: quick ? 3 : 9, warmUps: 1, pieces: 200, needs: 'together' },
    )
    const one = bySize.find(({ size }) => size === 100)?.rows ?? []
    const wallOf = (/** @type {readonly import('../turns.mjs').Row[]} */ rows) =>
      measured(rows, 'capstan')?.wall.median ?? Number.NaN
    return {
      areas: [
        turnsArea(
          'programs-first',
          'The first program of a process',
          'Engine, thread and sandbox; what is imported is not counted.',
          first,
        ),
        turnsArea(
          'programs-fresh',
          'An empty program, warm',
          'Each in a sandbox of its own where the engine makes one.',
          fresh,
        ),
        turnsArea(
          'programs',
          'One call of a program',
          'Programs of 100 calls one after the other; times for one call, the program’s start included.',
          one,
        ),
        turnsArea('programs-together', 'One call of 200 at once', 'Times for one call.', together),
        growthArea(
          {
            part: 'programs-growth',
            title: 'Growth with the calls of a program',
            explanation: 'ms CPU of one call in programs of so many.',
          },
          bySize,
        ),
      ],
      targets: [
        {
          name: 'an empty program in a fresh sandbox, by the clock',
          unit: 'ms',
          most: 5,
          found: wallOf(fresh),
        },
        { name: 'one call of a program, by the clock', unit: 'ms', most: 0.2, found: wallOf(one) },
        ...againstPeers('an empty program', fresh),
        ...againstPeers('one call of a program', one),
      ],
    }
  })
}

/** @param {import('./part.mjs').Setting} setting */
async function firstPrograms(setting) {
  /** @type {import('../worker.mjs').Cost[][]} */
  const costs = []
  /** @type {(string | undefined)[]} */
  const reasons = []
  /** @type {{ name: string, title: string }[]} */
  let titles = []
  for (let turn = 0; turn < (setting.quick ? 2 : 7); turn++) {
    await withSides('programs', setting, async (field) => {
      titles = field
      for (const [at, { runs, cannot }] of field.entries()) {
        costs[at] ??= []
        reasons[at] ??= cannot['*']
        if (reasons[at] !== undefined) continue
        try {
          costs[at].push(await runs({ what: 'fresh', size: 0, times: 1 }))
        } catch (error) {
          reasons[at] = `failed: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`
        }
      }
    })
  }
  return rowsOf(titles, costs, reasons, 1)
}
