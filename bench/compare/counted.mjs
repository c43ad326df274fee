// The work whose instructions are counted: a session with everything on, and one run of so many rounds. Nothing in it depends on the
// clock, so the same code executes almost the same instructions each time.
import { readIn } from '../peers/contract.mjs'

const [name = 'capstan', url = '', root = '', place = '', rounds = '0'] = process.argv.slice(2)
/** @type {{ peer: import('../peers/contract.mjs').Peer }} */
const { peer } = await import(`../peers/${name}.mjs`)
const count = Number(rounds)
const { read } = readIn(root)
const opened = await peer.open({ url: `${url}/rounds-${count}/v1`, root, place, read, rounds: count })
const conversation = opened.conversation([])
if (count > 0) await conversation.ask('Read all of it.', { stream: true })
await conversation.close?.()
await opened.close?.()
process.exit()
