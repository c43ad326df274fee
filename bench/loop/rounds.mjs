// Rounds of a run: the model calls `read`, streaming, and gets a file back.
import { join } from 'node:path'
import { FileSessionStore } from 'capstan/store'
import { bareLoop, readBelow } from './bare-loop.mjs'
import { compare, comparisonArea } from './compare.mjs'
import { hostOptions } from './host-options.mjs'

export { hostOptions }

const count = 50

/**
 * V8 compiles for about 2,000 rounds; with fewer before them the threads that do so are a part of what is measured.
 * @param {import('./workplace.mjs').Workplace} workplace
 * @param {{ rounds: number, warmUps: number }} options
 */
export async function measureRounds({ root, place, server, agentFor }, { rounds, warmUps }) {
  const plan = `rounds-${count}`
  const agent = await agentFor(plan)
  const byHand = async () => {
    const messages = [{ role: 'user', content: 'Read all of it.' }]
    await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages })
    if (messages.length !== 2 * count + 2) throw new Error(`${messages.length} messages`)
  }
  const sessionStore = new FileSessionStore(join(place, 'sessions'))
  const capstan = async (/** @type {import('capstan').SessionOptions} */ options) => {
    const session = agent.session(root, options)
    let files = 0
    for await (const event of await session.stream('Read all of it.')) {
      if (event.type === 'tool_end' && !event.isError) files++
      if (event.type === 'error') throw new Error(event.error)
    }
    if (files !== count) throw new Error(`${files} files were read`)
    await session.close()
  }
  const rows = await compare(
    [
      { name: 'fetch by hand', run: byHand },
      { name: 'session.stream, rules, hook, events', run: () => capstan(hostOptions) },
      {
        name: 'the same, record in files',
        run: () => capstan({ ...hostOptions, sessionStore }),
      },
    ],
    { rounds, warmUps, pieces: count },
  )
  const explanation = `A run of ${count} rounds, one \`read\` each, in a warm process; times for one round.`
  return {
    area: comparisonArea('Rounds', explanation, rows),
    ratio: rows[1]?.ratio.median ?? Number.NaN,
    kept: rows[2]?.ratio.median ?? Number.NaN,
  }
}
