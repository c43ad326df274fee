// Rounds of a run: one question to the model, one `read`, its result. In processes that have made thousands of them, in
// processes that make their first, and in runs that get longer.
import { startField } from '../field.mjs'
import { measured, rowsOf, takeTurns, turnsArea } from '../turns.mjs'
import { againstPeers, growthArea, isOwn, withField } from './part.mjs'

const count = 50
/** V8 compiles for about 2,000 rounds: before that its own threads are most of what is measured. */
const warmRounds = 2_000
/** An agent's process often lives for tens of rounds. The maximum cost of a round after so many, in bare loops. */
const tepid = [
  { after: 10, most: undefined },
  { after: 50, most: undefined },
  { after: 250, most: 1.6 },
  { after: 2_000, most: 1.4 },
]

/** @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
export async function rounds(setting) {
  const cold = await firstRounds(setting)
  const lukewarm = []
  for (const point of tepid) lukewarm.push(await withField(setting, (field) => roundsAfter(field, point)))
  const warm = await withField(setting, (field) => warmedUp(field, setting))
  const all = [warm, cold, ...lukewarm]
  return { areas: all.flatMap(({ areas }) => areas), targets: all.flatMap(({ targets }) => targets) }
}

/**
 * Nine runs in a process that has made few rounds before.
 * @param {import('../field.mjs').Contender[]} field
 * @param {{ after: number, most: number | undefined }} point
 * @returns {Promise<import('./part.mjs').PartResult>}
 */
async function roundsAfter(field, { after, most }) {
  // Uses one agent for both: V8 compiles functions again for a second agent.
  const before = { plan: 'rounds', rounds: 10, times: after / 10 }
  await takeTurns(field, before, { turns: 1, warmUps: 0, pieces: after })
  const work = { plan: 'rounds', rounds: count }
  const rows = await takeTurns(field, work, { turns: 9, warmUps: 0, pieces: count })
  const says = `Nine runs of ${count} rounds in a process that has made ${after} before; times for one round, ratios to the first row.`
  const name = `one round after ${after}`
  const within = (/** @type {string} */ mine, /** @type {string} */ what, /** @type {number} */ limit) => ({
    name: `${name}, ${what}`,
    unit: 'times the bare loop',
    most: limit,
    found: measured(rows, mine)?.ratio.median ?? Number.NaN,
  })
  return {
    areas: [turnsArea(`rounds-after-${after}`, `Rounds, streamed, after ${after}`, says, rows)],
    targets: [
      ...(most === undefined ? [] : [within('capstan', 'everything on, record in files', most)]),
      ...(most === undefined ? [] : [within('capstan-bare', 'as it comes', 1.3)]),
      ...againstPeers(`${name}, everything on`, rows),
    ],
  }
}

/** @param {import('../field.mjs').Contender[]} field @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
async function warmedUp(field, { quick }) {
  const warmUps = quick ? 4 : warmRounds / count
  const work = { plan: `rounds-${count}`, rounds: count }
  const streamed = await takeTurns(field, work, { turns: quick ? 3 : 13, warmUps, pieces: count })
  const whole = await takeTurns(
    field,
    { ...work, mode: /** @type {const} */ ('plain') },
    { turns: quick ? 2 : 7, warmUps: quick ? 1 : 10, pieces: count, needs: 'plain' },
  )
  const longer = await growing(field, { quick, streamed })
  const long = longer.find(({ size }) => size === (quick ? 100 : 500))
  const says = (/** @type {number} */ rounds) =>
    `A run of ${rounds} rounds, one \`read\` each, in a process that has made ${(warmUps * count).toLocaleString('en-US')} before; times for one round, ratios to the first row.`
  const growth = growthArea(
    {
      part: 'growth',
      title: 'Growth with the rounds of a run',
      explanation:
        'ms CPU of one round in runs of so many: every round sends the whole history. Exponents of that, and of the ratio to the first row.',
    },
    longer,
  )
  return {
    areas: [
      turnsArea('rounds', 'Rounds, streamed, warm', says(count), streamed),
      ...(long
        ? [
            turnsArea(
              `rounds-${long.size}`,
              `Runs of ${long.size} rounds, streamed, warm`,
              says(long.size),
              long.rows,
            ),
          ]
        : []),
      turnsArea('rounds-whole', 'Rounds, answers asked for as a whole, warm', says(count), whole),
      growth,
    ],
    targets: [
      {
        name: 'one round, everything on, record in files',
        unit: 'times the bare loop',
        most: 1.5,
        found: measured(streamed, 'capstan')?.ratio.median ?? Number.NaN,
      },
      ...againstPeers('one round, everything on', streamed),
      ...(long ? againstPeers(`one round of ${long.size}, everything on`, long.rows) : []),
      {
        name: 'growth of a round with the rounds before it, over the bare loop’s',
        unit: 'exponent',
        most: 0.1,
        found: growth.rows.find(({ name }) => name === 'capstan')?.overFloor ?? Number.NaN,
      },
    ],
  }
}

/**
 * Runs of more and more rounds, the longest with those alone that are not others' libraries: what all rounds send grows
 * with the square.
 * @param {import('../field.mjs').Contender[]} field
 * @param {{ quick: boolean, streamed: import('../turns.mjs').Row[] }} options
 */
async function growing(field, { quick, streamed }) {
  /** @type {import('./part.mjs').AtSize[]} */
  const found = []
  for (const size of quick ? [10, 50, 100] : [10, 50, 100, 500, 1_000]) {
    if (size === count) {
      found.push({ size, rows: streamed })
      continue
    }
    const times = Math.max(1, Math.round(count / size))
    const work = { plan: `rounds-${size}`, rounds: size, times }
    const turns = quick ? 2 : size > 100 ? 3 : 5
    const some = size > 500 ? field.filter(({ name }) => isOwn(name)) : field
    const options = {
      turns,
      warmUps: size > 100 ? 0 : 1,
      pieces: size * times,
      within: size > 500 ? 40 : 150,
    }
    const rows = await takeTurns(some, work, options)
    found.push({ size, rows })
  }
  return found
}

/** Processes that have done nothing yet; what they import and open is not counted. @param {import('./part.mjs').Setting} setting @returns {Promise<import('./part.mjs').PartResult>} */
async function firstRounds({ names, where, quick }) {
  const turns = quick ? 2 : 5
  /** @type {import('../worker.mjs').Cost[][]} */
  const costs = names.map(() => [])
  /** @type {(string | undefined)[]} */
  const reasons = names.map(() => undefined)
  const titles = names.map((name) => ({ name, title: name }))
  for (let turn = 0; turn < turns; turn++) {
    for (let step = 0; step < names.length; step++) {
      const at = (step + turn) % names.length
      if (reasons[at] !== undefined) continue
      const [contender] = await startField(names.slice(at, at + 1), where)
      if (contender === undefined) {
        reasons[at] = 'does not start'
        continue
      }
      titles[at] = contender
      try {
        costs[at]?.push(await contender.runs({ plan: `rounds-${count}`, rounds: count }))
      } catch (error) {
        reasons[at] = `failed: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`
      }
      await contender.end()
    }
  }
  const rows = rowsOf(titles, costs, reasons, count)
  const says = `The first ${count} rounds of a fresh process, its imports not counted; times for one round, ratios to the first row.`
  return {
    areas: [turnsArea('rounds-cold', 'Rounds, streamed, cold', says, rows)],
    targets: againstPeers('the first rounds of a process, everything on', rows),
  }
}
