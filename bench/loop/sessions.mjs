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
export async function measureHeap({ root, place, server, agentFor }, count) {
  const plan = `rounds-${toolRounds}`
  const agent = await agentFor(plan)
  const rules = { permissionPolicy: { allow: ['read(*)'] } }
  const sessionStore = new FileSessionStore(join(place, 'heap-sessions'))
  const plain = await heapOfSessions(() => agent.session(root, rules), count)
  const recorded = await heapOfSessions(
    () => agent.session(root, { ...rules, ...hostOptions, sessionStore }),
    count,
  )
  await agent.close()
  const began = await heapInUse()
  /** @type {import('./bare-loop.mjs').BareMessage[][]} */
  const histories = []
  for (let at = 0; at < count; at++) {
    const messages = [{ role: 'user', content: 'Read the files.' }]
    await bareLoop({ url: `${server.url}/${plan}`, read: readBelow(root), messages })
    histories.push(messages)
  }
  const byHand = ((await heapInUse()) - began) / 1024 / histories.length
  const rows = [
    { name: 'a session before its first call', kilobytes: plain.opened },
    { name: `a session after a run of ${toolRounds} rounds`, kilobytes: plain.used },
    {
      name: 'the same with rules, a hook and a record in files, before its first call',
      kilobytes: recorded.opened,
    },
    { name: `the same after a run of ${toolRounds} rounds`, kilobytes: recorded.used },
    { name: 'the messages of such a run by hand', kilobytes: byHand },
  ]
  const title = 'Memory of sessions'
  const explanation = `Heap that is left after collecting, of ${count.toLocaleString('en-US')} that are open at once.`
  printTable(
    title,
    explanation,
    ['', 'KB each'],
    rows.map(({ name, kilobytes }) => [name, figure(kilobytes)]),
  )
  return { area: { title, explanation, rows }, idle: plain.opened, used: plain.used, recorded: recorded.used }
}

/**
 * Kilobytes of each session, opened and used. @param {() => import('capstan').Session} open @param {number} count
 */
async function heapOfSessions(open, count) {
  const use = async (/** @type {import('capstan').Session[]} */ sessions) => {
    // A few at a time: only the memory that remains is measured.
    for (let at = 0; at < sessions.length; at += 20)
      await Promise.all(sessions.slice(at, at + 20).map((session) => session.send('Read the files.')))
  }
  // Everything that sessions share exists before the first is counted: code compiled by V8, connections, caches. These
  // sessions rest too, so that the code for that is loaded, and what V8 frees meanwhile is freed.
  const first = Array.from({ length: 100 }, open)
  await use(first)
  await idle()
  for (const session of first.splice(0)) await session.close()
  const began = await heapInUse()
  const sessions = Array.from({ length: count }, open)
  const opened = await heapInUse()
  await use(sessions)
  await idle()
  const used = await heapInUse()
  for (const session of sessions) await session.close()
  const perOne = (/** @type {number} */ bytes) => bytes / 1024 / count
  return { opened: perOne(opened - began), used: perOne(used - began) }
}

/** A session rests when it has waited for its user for a second. */
async function idle() {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
}

async function heapInUse() {
  if (globalThis.gc === undefined) throw new Error('memory can be measured with --expose-gc only')
  for (let n = 0; n < 3; n++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}
