// Rounds of a run: the model calls `read`, streaming, and gets a file back.
import { bareLoop, readBelow } from './bare-loop.mjs'
import { compare, comparisonArea } from './compare.mjs'

const count = 50

/**
 * What hosts turn on: rules, a hook, a reader of the events. Runs and their events are kept as by default.
 * @type {import('capstan').SessionOptions}
 */
export const hostOptions = {
  permissionPolicy: {
    deny: ['write(**/.env*)', 'read(**/.ssh/**)'],
    ask: ['bash(git push*)'],
    allow: ['read(*)', 'bash(npm run build*)'],
  },
  hooks: [{ id: 'watch', event: 'pre_tool_use', handler: () => undefined }],
}

/** @param {import('./workplace.mjs').Workplace} workplace @param {number} rounds */
export async function measureRounds({ root, server, agentFor }, rounds) {
  const plan = `rounds-${count}`
  const agent = await agentFor(plan)
  const byHand = async () => {
    const messages = [{ role: 'user', content: 'Read all of it.' }]
    await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages })
    if (messages.length !== 2 * count + 2) throw new Error(`${messages.length} messages`)
  }
  const capstan = async () => {
    const session = agent.session(root, hostOptions)
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
      { name: 'session.stream, rules, hook, events', run: capstan },
    ],
    { rounds, warmUps: 10, pieces: count },
  )
  const explanation = `A run of ${count} rounds, one \`read\` each, in a warm process; times for one round.`
  return {
    area: comparisonArea('Rounds', explanation, rows),
    ratio: rows[1]?.ratio.median ?? Number.NaN,
  }
}
