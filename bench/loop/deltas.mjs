// A long answer in small pieces, through to a reader.
import { keep } from '../measure.mjs'
import { bareLoop, readBelow } from './bare-loop.mjs'
import { compare, comparisonArea } from './compare.mjs'

const count = 20_000

/** @param {import('./workplace.mjs').Workplace} workplace @param {number} rounds */
export async function measureDeltas({ root, server, agentFor }, rounds) {
  const plan = `deltas-${count}`
  const agent = await agentFor(plan)
  const session = agent.session(root)
  const byHand = async () => {
    let heard = 0
    const onText = (/** @type {string} */ text) => {
      heard += text.length
    }
    const messages = [{ role: 'user', content: 'Continue.' }]
    const text = await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages, onText })
    if (heard !== text.length) throw new Error('some of the text was not heard')
  }
  const capstan = async () => {
    let text = ''
    for await (const event of await session.stream('Continue.', { history: [] }))
      if (event.type === 'text_delta') text += event.text
    if (keep(text.length) !== lengthOf(count)) throw new Error(`${text.length} characters were heard`)
  }
  const rows = await compare(
    [
      { name: 'fetch by hand, a callback', run: byHand },
      { name: 'session.stream, for await', run: capstan },
    ],
    { rounds, warmUps: 3 },
  )
  const explanation = `An answer of ${count.toLocaleString('en-US')} pieces of text, each an HTTP chunk of its own.`
  return {
    area: comparisonArea('Deltas', explanation, rows),
    ratio: rows[1]?.ratio.median ?? Number.NaN,
  }
}

/** @param {number} pieces */
function lengthOf(pieces) {
  let length = 0
  for (let at = 0; at < pieces; at++) length += `word${at % 1000} `.length
  return length
}
