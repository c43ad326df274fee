// Many conversations at once, and the memory that they hold.
import { figure, printReasons, printTable } from '../../report.mjs'
import { measured, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, isOwn, withField } from './part.mjs'

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function crowd(setting) {
  return withField(setting, async (field) => {
    /** @type {import('./part.mjs').PartResult} */
    const result = { areas: [], targets: [] }
    /** @type {import('./part.mjs').AtSize[]} */
    const bySize = []
    for (const count of setting.quick ? [10, 200] : [10, 200, 1_000]) {
      const work = { plan: 'rounds-3', rounds: 3, times: count, at: count }
      const turns = setting.quick ? 2 : 5
      // Warm as in the rounds; the smaller crowds have warmed the largest one up.
      const options = { turns, warmUps: count > 200 ? 0 : setting.quick ? 1 : 3, pieces: count, within: 200 }
      const some = count > 200 ? fewer(field, bySize.at(-1)?.rows ?? []) : field
      const rows = await takeTurns(some, work, options)
      bySize.push({ size: count, rows })
      if (count < 200) continue
      const shown = count.toLocaleString('en-US')
      const says = `${shown} conversations of three rounds and an answer at once; times for one.`
      result.areas.push(
        turnsArea(`crowd-${count}`, `${shown} at once`, says, withTail(rows), ['a second', 'p99 ms']),
      )
      result.targets.push(
        {
          name: `${shown} sessions of three rounds at once, as they come`,
          unit: 'times the bare loop',
          most: 1.8,
          found: measured(rows, 'capstan-bare')?.ratio.median ?? Number.NaN,
        },
        {
          name: `${shown} recorded sessions of three rounds at once`,
          unit: 'times the bare loop',
          most: 2,
          found: measured(rows, 'capstan')?.ratio.median ?? Number.NaN,
        },
        ...againstPeers(`${shown} sessions at once, everything on`, rows),
      )
    }
    const explanation = 'ms CPU of one conversation of three rounds among so many at once.'
    result.areas.push(
      growthArea({ part: 'crowd-growth', title: 'Growth with the crowd', explanation }, bySize),
    )
    return result
  })
}

/**
 * A thousand at once take the slower libraries minutes: what is asked of them is the smaller crowd.
 * @param {readonly import('../field.mjs').Contender[]} field
 * @param {readonly import('../turns.mjs').Row[]} before
 */
function fewer(field, before) {
  const others = before.flatMap((row) => ('cannot' in row || isOwn(row.name) ? [] : [row]))
  const slower = new Set(
    others
      .toSorted((a, b) => a.cpu.median - b.cpu.median)
      .slice(5)
      .map(({ name }) => name),
  )
  return field.map((one) =>
    slower.has(one.name)
      ? { ...one, cannot: { '*': 'left out: five others took less with 200 at once' } }
      : one,
  )
}

/** Conversations a second, and the milliseconds that one of a hundred exceeds. @param {readonly import('../turns.mjs').Row[]} rows */
function withTail(rows) {
  return rows.map((row) =>
    'cannot' in row ? row : { ...row, facts: { 'a second': 1000 / row.wall.median, 'p99 ms': row.tail } },
  )
}

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function memory(setting) {
  return withField(setting, async (field) => {
    const count = setting.quick ? 100 : 1_000
    const rows = []
    for (const { name, title, hold } of field) {
      try {
        rows.push({ name, title, ...(await hold(count, 3)) })
      } catch (error) {
        const reason = String(error instanceof Error ? error.message : error).split('\n')[0] ?? ''
        rows.push({ name, title, cannot: `failed: ${reason}` })
      }
    }
    const title = 'Memory'
    const explanation = `Heap after collecting of ${count.toLocaleString('en-US')} open conversations, KB each; the process, MB.`
    printTable(
      title,
      explanation,
      ['', 'before its first question', 'after three rounds', 'process'],
      rows.map((row) =>
        'cannot' in row
          ? [row.title, 'cannot']
          : [row.title, figure(row.idle), figure(row.used), figure(row.rss)],
      ),
    )
    printReasons(rows)
    const mine = rows.find(({ name }) => name === 'capstan')
    const idle = mine !== undefined && 'idle' in mine ? mine.idle : Number.NaN
    return {
      areas: [{ part: 'memory', title, explanation, kind: 'memory', rows }],
      targets: [{ name: 'heap of an idle session', unit: 'KB', most: 15, found: idle }],
    }
  })
}
