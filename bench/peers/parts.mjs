// What the contenders are compared in. Each part has processes of its own, so that none starts with what another left.
import { growthExponent } from '../measure.mjs'
import { figure, printTable } from '../report.mjs'
import { own } from './contract.mjs'
import { startField } from './field.mjs'
import { measured, takeTurns, turnsArea } from './turns.mjs'

/** @typedef {{ names: readonly string[], where: { url: string, root: string, place: string }, quick: boolean }} Setting */
/** @typedef {import('../verdict.mjs').Target} Target */
/** @typedef {{ part: string, title: string, explanation: string, rows: readonly any[] }} PartArea */
/** @typedef {{ areas: PartArea[], targets: Target[] }} PartResult */

/** Rounds of a run: 50, streamed and not. @param {Setting} setting @returns {Promise<PartResult>} */
export async function rounds(setting) {
  return withField(setting, async (field) => {
    const count = 50
    const work = { plan: `rounds-${count}`, rounds: count }
    const turns = setting.quick ? 3 : 15
    const warmUps = setting.quick ? 3 : 8
    const streamed = await takeTurns(field, work, { turns, warmUps, pieces: count })
    const whole = await takeTurns(
      field,
      { ...work, mode: 'plain' },
      { turns: Math.ceil(turns / 3), warmUps: 2, pieces: count, needs: 'plain' },
    )
    const says = `A run of ${count} rounds, one \`read\` each, in a warm process; times for one round, ratios to the first row.`
    return {
      areas: [
        turnsArea('rounds', 'Rounds, streamed', says, streamed),
        turnsArea('rounds-whole', 'Rounds, answers asked for as a whole', says, whole),
      ],
      targets: [
        {
          name: 'one round, everything on, record in files',
          unit: 'times the bare loop',
          most: 1.5,
          found: measured(streamed, 'capstan')?.ratio.median ?? Number.NaN,
        },
        againstPeers('one round, everything on', streamed),
      ],
    }
  })
}

/** How a run's cost grows with its rounds: the history goes to the model with each. @param {Setting} setting @returns {Promise<PartResult>} */
export async function growth(setting) {
  return withField(setting, async (field) => {
    const sizes = setting.quick ? [10, 50, 100] : [10, 50, 100, 200, 500]
    /** @type {{ size: number, rows: import('./turns.mjs').Row[] }[]} */
    const bySize = []
    for (const size of sizes) {
      const work = { plan: `rounds-${size}`, rounds: size, times: Math.max(1, Math.round(50 / size)) }
      const turns = setting.quick ? 2 : 5
      bySize.push({
        size,
        rows: await takeTurns(field, work, { turns, warmUps: 1, pieces: size * work.times }),
      })
    }
    const rows = field.map(({ name, title }) => {
      const points = bySize.flatMap(({ size, rows }) => {
        const row = measured(rows, name)
        return row === undefined ? [] : [{ size, value: row.cpu.median, ratio: row.ratio.median }]
      })
      const fits = points.length === sizes.length
      return {
        name,
        title,
        points,
        perRound: fits ? growthExponent(points) : Number.NaN,
        overFloor: fits
          ? growthExponent(points.map(({ size, ratio }) => ({ size, value: ratio })))
          : Number.NaN,
      }
    })
    const title = 'Growth with the rounds of a run'
    const explanation =
      'ms CPU of one round in runs of so many; exponents of that, and of the ratio to the first row.'
    printTable(
      title,
      explanation,
      ['', ...sizes.map(String), 'exponent', 'over the first'],
      rows.map((row) => [
        row.title,
        ...sizes.map((size) => figure(row.points.find((point) => point.size === size)?.value ?? Number.NaN)),
        row.perRound.toFixed(2),
        row.overFloor.toFixed(2),
      ]),
    )
    const mine = rows.find(({ name }) => name === 'capstan')
    return {
      areas: [{ part: 'growth', title, explanation, rows }],
      targets: [
        {
          name: 'growth of a round with the rounds before it, over the bare loop’s',
          unit: 'exponent',
          most: 0.1,
          found: mine?.overFloor ?? Number.NaN,
        },
      ],
    }
  })
}

/** A long answer in small pieces. @param {Setting} setting @returns {Promise<PartResult>} */
export async function deltas(setting) {
  return withField(setting, async (field) => {
    const sizes = setting.quick ? [2_000, 20_000] : [200, 2_000, 20_000]
    /** @type {{ size: number, rows: import('./turns.mjs').Row[] }[]} */
    const bySize = []
    for (const size of sizes)
      bySize.push({
        size,
        rows: await takeTurns(field, { plan: `deltas-${size}` }, { turns: setting.quick ? 3 : 9 }),
      })
    const rows = bySize.at(-1)?.rows ?? []
    const points = bySize.map(({ size, rows }) => ({
      size,
      value: measured(rows, 'capstan')?.cpu.median ?? Number.NaN,
    }))
    const exponent = growthExponent(points)
    const says = `An answer of 20,000 pieces of text through to a reader. Exponent of Capstan’s time with the pieces: ${exponent.toFixed(2)}.`
    return {
      areas: [turnsArea('deltas', 'Pieces of text', says, rows)],
      targets: [
        {
          name: '20,000 pieces of text to a reader',
          unit: 'times the bare loop',
          most: 3,
          found: measured(rows, 'capstan')?.ratio.median ?? Number.NaN,
        },
        againstPeers('20,000 pieces of text', rows),
        { name: 'growth of events with their number', unit: 'exponent', most: 1.1, found: exponent },
      ],
    }
  })
}

/** One question on top of a long history. @param {Setting} setting @returns {Promise<PartResult>} */
export async function history(setting) {
  return withField(setting, async (field) => {
    const sizes = setting.quick ? [100, 1_000] : [100, 1_000, 10_000]
    /** @type {{ size: number, rows: import('./turns.mjs').Row[] }[]} */
    const bySize = []
    for (const size of sizes) {
      const work = { plan: 'answer', history: size, length: 500 }
      bySize.push({ size, rows: await takeTurns(field, work, { turns: setting.quick ? 2 : 5, warmUps: 1 }) })
    }
    const areas = bySize.map(({ size, rows }) => {
      const says = `One question on top of ${size.toLocaleString('en-US')} messages of 500 characters, none seen before.`
      return turnsArea(`history-${size}`, 'Long history', says, rows)
    })
    const last = bySize.at(-1)?.rows ?? []
    const points = bySize.map(({ size, rows }) => ({
      size,
      value: measured(rows, 'capstan')?.cpu.median ?? Number.NaN,
    }))
    return {
      areas,
      targets: [
        {
          name: `one call on ${sizes.at(-1)?.toLocaleString('en-US')} messages`,
          unit: 'times the bare loop',
          most: 2.5,
          found: measured(last, 'capstan')?.ratio.median ?? Number.NaN,
        },
        againstPeers('a long history', last),
        { name: 'growth with the history', unit: 'exponent', most: 1.1, found: growthExponent(points) },
      ],
    }
  })
}

/** Many conversations at once. @param {Setting} setting @returns {Promise<PartResult>} */
export async function crowd(setting) {
  return withField(setting, async (field) => {
    /** @type {PartResult} */
    const result = { areas: [], targets: [] }
    for (const count of setting.quick ? [200] : [200, 1_000]) {
      const work = { plan: 'rounds-3', rounds: 3, times: count, at: count }
      const rows = await takeTurns(field, work, {
        turns: setting.quick || count > 200 ? 2 : 5,
        warmUps: 1,
        pieces: count,
      })
      const says = `${count.toLocaleString('en-US')} conversations of three rounds and an answer at once; times for one.`
      result.areas.push(turnsArea(`crowd-${count}`, `${count.toLocaleString('en-US')} at once`, says, rows))
      printTable(
        'Throughput and tail',
        'Conversations a second, and the milliseconds that one of a hundred exceeds.',
        ['', 'a second', 'p99 ms'],
        rows.flatMap((row) =>
          'cannot' in row ? [] : [[row.title, figure(1000 / row.wall.median), figure(row.tail)]],
        ),
      )
      result.targets.push(
        {
          name: `${count.toLocaleString('en-US')} sessions of three rounds at once`,
          unit: 'times the bare loop',
          most: 1.8,
          found: measured(rows, 'capstan-bare')?.ratio.median ?? Number.NaN,
        },
        againstPeers(`${count.toLocaleString('en-US')} sessions at once`, rows),
      )
    }
    return result
  })
}

/** What conversations hold. @param {Setting} setting @returns {Promise<PartResult>} */
export async function memory(setting) {
  return withField(setting, async (field) => {
    const count = setting.quick ? 100 : 1_000
    const rows = []
    for (const { name, title, hold } of field) {
      try {
        rows.push({ name, title, ...(await hold(count, 3)) })
      } catch (error) {
        rows.push({
          name,
          title,
          cannot: String(error instanceof Error ? error.message : error).split('\n')[0] ?? '',
        })
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
          ? [row.title, 'cannot', row.cannot]
          : [row.title, figure(row.idle), figure(row.used), figure(row.rss)],
      ),
    )
    const mine = rows.find(({ name }) => name === 'capstan')
    const idle = mine !== undefined && 'idle' in mine ? mine.idle : Number.NaN
    return {
      areas: [{ part: 'memory', title, explanation, rows }],
      targets: [{ name: 'heap of an idle session', unit: 'KB', most: 15, found: idle }],
    }
  })
}

/**
 * Against the best of the libraries of others, in the same run.
 * @param {string} name
 * @param {readonly import('./turns.mjs').Row[]} rows
 * @returns {Target}
 */
export function againstPeers(name, rows) {
  const others = rows.flatMap((row) => ('cannot' in row || own.includes(row.name) ? [] : [row]))
  const best = others.toSorted((a, b) => a.ratio.median - b.ratio.median)[0]
  const mine = measured(rows, 'capstan')?.ratio.median ?? Number.NaN
  return {
    name: `${name}, against the best peer${best === undefined ? '' : ` (${best.title})`}`,
    unit: 'times its CPU',
    most: 1,
    found: mine / (best?.ratio.median ?? Number.NaN),
  }
}

/** @param {Setting} setting @param {(field: import('./field.mjs').Contender[]) => Promise<PartResult>} use */
async function withField({ names, where }, use) {
  const field = await startField(names, where)
  try {
    return await use(field)
  } finally {
    await Promise.all(field.map((one) => one.end()))
  }
}
