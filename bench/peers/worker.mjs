// One contender in a separate process, so that the heap and compiled code of one do not slow others. Does what it is
// asked and reports what it cost.
import { performance } from 'node:perf_hooks'
import { threadTimes } from '../loop/threads.mjs'
import { readIn } from './contract.mjs'

const [name = '', url = '', root = '', place = ''] = process.argv.slice(2)
/** @type {{ peer: import('./contract.mjs').Peer }} */
const { peer } = await import(`./${name}.mjs`)
const { read, taken, taking } = readIn(root)
/** @type {Map<string, Promise<import('./contract.mjs').Opened>>} */
const opened = new Map()
/** @type {import('./contract.mjs').Conversation[]} */
let held = []

/**
 * `plan`: what the model does; `wait`: a tool of the host's that takes so many milliseconds instead of reading a file.
 * @typedef {{ mode: 'stream' | 'plain', plan: string, rounds: number, times: number, at: number, history: number, length: number, wait?: number }} Work
 */
/** @typedef {{ cpu: number, wall: number, rss: number, walls: number[], facts?: Record<string, number> }} Cost */
/** @typedef {{ id: number, do: 'runs', work: Work } | { id: number, do: 'hold', count: number, rounds: number } | { id: number, do: 'end' }} Order */

process.on('message', (/** @type {Order} */ order) => {
  perform(order).then(
    (result) => process.send?.({ id: order.id, result }),
    (error) => process.send?.({ id: order.id, error: error instanceof Error ? error.stack : String(error) }),
  )
})
process.once('disconnect', () => process.exit())
process.send?.({ ready: { title: peer.title, cannot: peer.cannot ?? {} } })

/** @param {Order} order */
async function perform(order) {
  if (order.do === 'end') {
    for (const one of opened.values()) await (await one).close?.()
    setImmediate(() => process.exit())
    return undefined
  }
  return order.do === 'runs' ? runs(order.work) : hold(order.count, order.rounds)
}

/** The plan whose number of rounds is in the prompt: one agent serves runs of any length. */
const anyNumber = 'rounds'
const maxRounds = 1_000

/** @param {string} plan @param {number} asked */
function openFor(plan, asked) {
  const hostTool = plan.startsWith('parallel-')
  const rounds = plan === anyNumber ? maxRounds : asked
  const known =
    opened.get(plan) ?? peer.open({ url: `${url}/${plan}/v1`, root, place, read, rounds, hostTool })
  opened.set(plan, known)
  return known
}

/** So many conversations, so many at a time. @param {Work} work @returns {Promise<Cost>} */
async function runs({ mode, plan, rounds, times, at, history, length, wait }) {
  const place = await openFor(plan, rounds)
  const before = historyOf(history, length)
  const pieces = plan.startsWith('deltas-') ? Number(plan.slice('deltas-'.length)) : 0
  const prompt = plan === anyNumber ? `Read ${rounds} files, please.` : 'Read all of it.'
  /** @type {number[]} */
  const walls = []
  let left = times
  const one = async () => {
    while (left-- > 0) {
      const start = performance.now()
      let heard = 0
      const conversation = place.conversation(before)
      const text = await conversation.ask(prompt, {
        stream: mode === 'stream',
        onText: () => heard++,
      })
      await conversation.close?.()
      walls.push(performance.now() - start)
      if (typeof text !== 'string' && typeof (await text) !== 'string') throw new Error(`no text: ${text}`)
      if (pieces === 0 && !String(await text).endsWith('It is done.'))
        throw new Error(`another text: ${text}`)
      if (heard < pieces / 4) throw new Error(`${heard} pieces of ${pieces} were heard`)
    }
  }
  taken()
  taking(wait)
  const threads = threadTimes()
  const used = process.cpuUsage()
  const start = performance.now()
  await Promise.all(Array.from({ length: at }, one))
  const wall = performance.now() - start
  const { user, system } = process.cpuUsage(used)
  const facts = threads && since(threads)
  const calls = taken()
  // Capstan reads files with its own tool; the events show whether every call succeeded.
  if ((wait !== undefined || !name.startsWith('capstan')) && calls !== rounds * times)
    throw new Error(`${calls} calls, not ${rounds * times}`)
  const cost = { cpu: (user + system) / 1000, wall, rss: process.memoryUsage.rss() / 2 ** 20, walls }
  return facts === undefined ? cost : { ...cost, facts }
}

/** @param {import('../loop/threads.mjs').ThreadTimes} before */
function since({ main, v8, pool }) {
  const now = threadTimes()
  return now && { main: now.main - main, v8: now.v8 - v8, pool: now.pool - pool }
}

/** Heap that conversations hold, in KB each: before their first question, and after a run. @param {number} count @param {number} rounds */
async function hold(count, rounds) {
  const place = await openFor(`rounds-${rounds}`, rounds)
  const asked = async (/** @type {import('./contract.mjs').Conversation} */ one) =>
    one.ask('Read the files.', { stream: !peer.cannot?.stream })
  await asked(place.conversation([]))
  const began = await heapInUse()
  held = Array.from({ length: count }, () => place.conversation([]))
  const idle = (await heapInUse()) - began
  for (let at = 0; at < count; at += 20) await Promise.all(held.slice(at, at + 20).map(asked))
  // Like a session whose user has read the answers: what only a run needs may have been dropped by then.
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const used = (await heapInUse()) - began
  const rss = process.memoryUsage.rss() / 2 ** 20
  await Promise.all(held.map((one) => one.close?.()))
  held = []
  return { idle: idle / 1024 / count, used: used / 1024 / count, rss }
}

/** @param {number} count @param {number} length @returns {import('./contract.mjs').Said[]} */
function historyOf(count, length) {
  return Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `message ${at}: `.padEnd(length, 'some words of a long "conversation"\n'),
  }))
}

async function heapInUse() {
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
