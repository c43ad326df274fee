// One call on top of a long history.
import { bareLoop, readBelow } from './bare-loop.mjs'
import { compare, comparisonArea } from './compare.mjs'

const count = 10_000
const length = 500

/** @param {import('./workplace.mjs').Workplace} workplace @param {number} rounds */
export async function measureHistory({ root, server, agentFor }, rounds) {
  const agent = await agentFor('answer')
  const session = agent.session(root)
  const history = Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `message ${at}: `.padEnd(length, 'some words of a long "conversation"\n'),
  }))
  const byHand = async () => {
    const messages = [...history, { role: 'user', content: 'And now?' }]
    const text = await bareLoop({ url: `${server.url}/answer`, read: readBelow(root), messages })
    if (text === '') throw new Error('no answer')
  }
  // Copied for each run, so that nothing is cached from the previous one.
  const given = history.map(({ role, content }) => ({
    role: /** @type {'user' | 'assistant'} */ (role),
    content: [{ type: /** @type {const} */ ('text'), text: content }],
  }))
  const capstan = async () => {
    const { text } = await session.send('And now?', { history: given })
    if (text === '') throw new Error('no answer')
  }
  const rows = await compare(
    [
      { name: 'fetch by hand', run: byHand },
      { name: 'session.send with a history', run: capstan },
    ],
    { rounds, warmUps: 2 },
  )
  const size = `${count.toLocaleString('en-US')} messages of ${length} characters`
  return {
    area: comparisonArea('Long history', `One call on top of ${size}, none of them seen before.`, rows),
    ratio: rows[1]?.ratio.median ?? Number.NaN,
  }
}
