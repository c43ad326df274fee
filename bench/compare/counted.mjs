// The work whose instructions are counted: so many rounds, in runs of at most 50, each in a separate session. Nothing in it depends on
// the clock, so the same code executes almost the same instructions each time.
import { readIn } from '../peers/contract.mjs'

const [name = 'capstan', url = '', root = '', place = '', rounds = '0'] = process.argv.slice(2)
/** @type {{ peer: import('../peers/contract.mjs').Peer }} */
const { peer } = await import(`../peers/${name}.mjs`)
const longest = 50
const { read } = readIn(root)
const opened = await peer.open({ url: `${url}/rounds/v1`, root, place, read, rounds: longest })
// The shorter run first: those after it are the same. No rounds at all: a session that is opened and closed.
const [whole, rest] = [Math.floor(Number(rounds) / longest), Number(rounds) % longest]
const runs = [...(rest > 0 || whole === 0 ? [rest] : []), ...Array.from({ length: whole }, () => longest)]
for (const count of runs) {
  const conversation = opened.conversation([])
  if (count > 0) await conversation.ask(`Read ${count} files, please.`, { stream: true })
  await conversation.close?.()
}
await opened.close?.()
process.exit()
