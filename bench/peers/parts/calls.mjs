// One call of a tool by its own library, and the calls of one answer at once.
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, withField, withSides } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function calls(setting) {
  return withSides('calls', setting, async (field) => {
    const times = setting.quick ? 1_000 : 5_000
    const work = { what: 'call', size: 1, times }
    const turns = { turns: setting.quick ? 3 : 15, warmUps: setting.quick ? 3 : 10, pieces: times }
    const rows = await takeTurns(field, work, { ...turns, needs: 'call' })
    const says =
      'One call of an in-process tool whose arguments are checked: what each library runs a call through.'
    return {
      areas: [turnsArea('calls', 'Tool calls', says, rows)],
      // Other libraries judge nothing here; the area "authority" has the target for the cost of the gate.
      targets: [],
    }
  })
}

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function parallel(setting) {
  return withField(setting, async (field) => {
    const count = 20
    const runs = setting.quick ? 3 : 10
    const turns = {
      turns: setting.quick ? 3 : 9,
      warmUps: setting.quick ? 2 : 5,
      pieces: runs,
      needs: 'parallel',
    }
    const work = { plan: `parallel-${count}`, rounds: count, times: runs }
    const idle = await takeTurns(field, { ...work, wait: 0 }, turns)
    const waiting = await takeTurns(field, { ...work, wait: 20 }, turns)
    const says = (/** @type {string} */ what) =>
      `A run in which one answer calls ${count} tools that ${what}; times for the run. Capstan as it comes runs 8 at once, else 20.`
    const best = waiting
      .flatMap((row) => ('cannot' in row ? [] : [row.wall.median]))
      .toSorted((a, b) => a - b)[0]
    return {
      areas: [
        turnsArea('parallel', `${count} tools in one answer`, says('do nothing'), idle),
        turnsArea(
          'parallel-wait',
          `${count} tools in one answer that wait`,
          says('each wait 20 ms'),
          waiting,
        ),
      ],
      targets: [
        ...againstPeers(`${count} tools in one answer, everything on`, idle),
        {
          name: `${count} tools that each wait 20 ms, by the clock`,
          unit: 'times the fastest',
          most: 1.5,
          found: (measured(waiting, 'capstan')?.wall.median ?? Number.NaN) / (best ?? Number.NaN),
        },
      ],
    }
  })
}
