// Many sessions at once, and what one holds in memory.
import { join } from 'node:path'
import { FileSessionStore } from 'capstan/store'
import { figure, printTable } from '../report.mjs'
import { bareLoop, readBelow } from './bare-loop.mjs'
import { compare, comparisonArea } from './compare.mjs'
import { hostOptions } from './host-options.mjs'

const toolRounds = 3

/** @param {import('./workplace.mjs').Workplace} workplace @param {{ rounds: number, count: number }} options */
export async function measureSessions({ root, place, server, agentFor }, { rounds, count }) {
  const plan = `rounds-${toolRounds}`
  const agent = await agentFor(plan)
  const many = (/** @type {() => Promise<unknown>} */ one) => Promise.all(Array.from({ length: count }, one))
  const byHand = async () => {
    const messages = [{ role: 'user', content: 'Read the files.' }]
    await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages })
  }
  const sessionStore = new FileSessionStore(join(place, `sessions-${count}`))
  const capstan = async (/** @type {import('capstan').SessionOptions} */ options) => {
    const session = agent.session(root, options)
    const { toolCallsCount } = await session.send('Read the files.')
    if (toolCallsCount !== toolRounds) throw new Error(`${toolCallsCount} calls`)
    await session.close()
  }
  const rows = await compare(
    [
      { name: 'fetch by hand', run: () => many(byHand) },
      {
        name: 'a session each',
        run: () => many(() => capstan({ permissionPolicy: { allow: ['read(*)'] } })),
      },
      {
        name: 'rules, a hook, record in files',
        run: () => many(() => capstan({ ...hostOptions, sessionStore })),
      },
    ],
    { rounds, warmUps: 1 },
  )
  const explanation = `${count.toLocaleString('en-US')} conversations at once, ${toolRounds} rounds and an answer each.`
  return {
    area: comparisonArea('Many sessions', explanation, rows),
    ratio: rows[1]?.ratio.median ?? Number.NaN,
    recorded: rows[2]?.ratio.median ?? Number.NaN,
  }
}

/** @param {import('./workplace.mjs').Workplace} workplace @param {number} count */
export async function measureHeap({ root, server, agentFor }, count) {
  const plan = `rounds-${toolRounds}`
  const agent = await agentFor(plan)
  const open = () => agent.session(root, { permissionPolicy: { allow: ['read(*)'] } })
  // What all of them share is there before the first is counted.
  await open().send('Read the files.')
  const began = await heapInUse()
  const sessions = Array.from({ length: count }, open)
  const opened = await heapInUse()
  // A few at a time: only what stays is of interest.
  for (let at = 0; at < count; at += 20)
    await Promise.all(sessions.slice(at, at + 20).map((session) => session.send('Read the files.')))
  const used = await heapInUse()
  /** @type {import('./bare-loop.mjs').BareMessage[][]} */
  const histories = []
  for (let at = 0; at < count; at++) {
    const messages = [{ role: 'user', content: 'Read the files.' }]
    await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages })
    histories.push(messages)
  }
  const held = await heapInUse()
  await agent.close()
  const perOne = (/** @type {number} */ bytes) => bytes / 1024 / count
  const rows = [
    { name: 'a session before its first call', kilobytes: perOne(opened - began) },
    { name: `a session after a run of ${toolRounds} rounds`, kilobytes: perOne(used - began) },
    { name: 'the messages of such a run by hand', kilobytes: perOne(held - used) },
  ]
  const title = 'Memory of sessions'
  const explanation = `Heap that is left after collecting, of ${count.toLocaleString('en-US')} that are open at once.`
  printTable(
    title,
    explanation,
    ['', 'KB each'],
    rows.map(({ name, kilobytes }) => [name, figure(kilobytes)]),
  )
  return {
    area: { title, explanation, rows },
    idle: rows[0]?.kilobytes ?? Number.NaN,
    used: rows[1]?.kilobytes ?? Number.NaN,
  }
}

async function heapInUse() {
  if (globalThis.gc === undefined) throw new Error('memory can be measured with --expose-gc only')
  for (let n = 0; n < 3; n++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
