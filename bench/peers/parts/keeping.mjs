// Keeping a session: one round more, and opening it again, as it grows.
import { takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, withSides } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function keeping(setting) {
  return withSides('keeping', setting, async (field) => {
    const { quick } = setting
    /** @type {import('./part.mjs').AtSize[]} */
    const appends = []
    /** @type {import('./part.mjs').AtSize[]} */
    const reopens = []
    for (const size of quick ? [10, 1_000] : [10, 100, 1_000, 10_000]) {
      const times = size <= 10 ? 5 : 20
      const turns = quick ? 3 : 9
      const work = { what: 'append', size, times }
      appends.push({
        size,
        rows: await takeTurns(field, work, { turns, warmUps: 3, pieces: times, needs: 'append' }),
      })
      const often = size > 1_000 ? 1 : 5
      const again = { what: 'reopen', size, times: often }
      reopens.push({
        size,
        rows: await takeTurns(field, again, { turns, warmUps: 2, pieces: often, needs: 'reopen' }),
      })
    }
    const appended = appends.at(-1)
    const opened = reopens.at(-1)
    const shown = appended?.size.toLocaleString('en-US')
    const growth = growthArea(
      {
        part: 'keeping-growth',
        title: 'Growth of a round with the messages before it',
        explanation: 'ms by the clock to keep one round more on top of so many messages.',
        of: (row) => row.wall.median,
      },
      appends,
    )
    const bytes = growthArea(
      {
        part: 'keeping-bytes',
        title: 'Bytes of a round',
        explanation: 'Bytes written to keep one round more on top of so many messages.',
        of: (row) => row.facts['bytes'] ?? Number.NaN,
      },
      appends,
    )
    const reopening = growthArea(
      {
        part: 'reopening-growth',
        title: 'Growth of opening again',
        explanation: 'ms CPU to open a session of so many messages again and have all of them.',
      },
      reopens,
    )
    const exponentOf = (
      /** @type {{ rows: { name: string, exponent: number }[] }} */ area,
      /** @type {string} */ name,
    ) => area.rows.find((row) => row.name === name)?.exponent ?? Number.NaN
    return {
      areas: [
        turnsArea(
          'keeping',
          'Keeping one round more',
          `On top of ${shown} messages; times for one round.`,
          appended?.rows ?? [],
          ['bytes'],
        ),
        growth,
        bytes,
        turnsArea(
          'reopening',
          'Opening a session again',
          `One of ${shown} messages, until all of them are there.`,
          opened?.rows ?? [],
        ),
        reopening,
      ],
      targets: [
        {
          name: 'growth of a kept round (exit)',
          unit: 'exponent',
          most: 0.1,
          found: exponentOf(growth, 'capstan-exit'),
        },
        {
          name: 'growth of the bytes of a kept round',
          unit: 'exponent',
          most: 0.05,
          found: exponentOf(bytes, 'capstan'),
        },
        {
          name: 'growth of opening again',
          unit: 'exponent',
          most: 1.1,
          found: exponentOf(reopening, 'capstan'),
        },
        ...againstPeers(
          'keeping a round on disk when it closes',
          onDisk(appended?.rows ?? []),
          'capstan-exit',
        ),
        ...againstPeers('opening again', opened?.rows ?? []),
      ],
    }
  })
}

/** @param {readonly import('../turns.mjs').Row[]} rows */
function onDisk(rows) {
  return rows.filter(({ title }) => !title.includes('(memory)'))
}
