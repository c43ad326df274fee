// What telemetry adds to a round: by CPU time of blocks of runs in turn, by samples of the main thread, and by instructions.
import { mkdtempSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { instructionCounter, steady } from '../compare/instructions.mjs'
import { hostOptions } from '../loop/host-options.mjs'
import { figure, printTable } from '../report.mjs'
import { medianInterval } from './median-interval.mjs'
import { telemetryOf } from './tracers.mjs'

/** Of one run; each has an answer without a call as its last round. */
const calls = 10
const rounds = calls + 1
const root = join(import.meta.dirname, '../..')

/** @typedef {import('../loop/workplace.mjs').Workplace} Workplace */
/** @typedef {{ kind: import('./tracers.mjs').Kind, name: string }} Contender */

/** @type {readonly Contender[]} */
const contenders = [
  { kind: 'off', name: 'telemetry off' },
  { kind: 'off', name: 'off a second time: the error of the method' },
  { kind: 'empty', name: 'on, a tracer and a meter that do nothing: the part of Capstan' },
  { kind: 'bare', name: 'on, the SDK of OpenTelemetry without attributes: its minimum' },
  { kind: 'sdk', name: 'on, the SDK of OpenTelemetry: everything' },
]

/**
 * @param {Workplace} workplace
 * @param {{ blocks: number, runs: number, warmUps: number, count: boolean }} options
 */
export async function measureTracing(workplace, { blocks, runs, warmUps, count }) {
  /** @type {import('capstan').Agent[]} */
  const agents = []
  for (const { kind } of contenders)
    agents.push(await workplace.agentFor(`rounds-${calls}`, telemetryOf(kind)))
  const once = (/** @type {number} */ at) => runOf(agents[at], workplace.root)
  const blocked = await timedBlocks(once, { blocks, runs, warmUps })
  const shares = []
  for (const at of [2, 3, 4])
    shares.push(await sampledShare(contenders[at]?.name ?? '', () => once(at), blocks * runs))
  return {
    areas: [blockArea(blocked, { blocks, runs }), shareArea(shares), ...(count ? countArea(workplace) : [])],
    control: blocked[1]?.ratio,
    own: blocked[2]?.ratio,
    all: blocked[4]?.ratio,
  }
}

/** @param {import('capstan').Agent | undefined} agent @param {string} directory */
async function runOf(agent, directory) {
  const session = agent?.session(directory, hostOptions)
  const result = await session?.send('Read all of it.')
  if (result?.toolCallsCount !== calls) throw new Error(`${result?.toolCallsCount} files were read`)
  await session?.close()
}

/** In ten blocks each contender has every place twice, and follows every other twice: garbage of one is not always paid for by the same. */
const orders = contenders.flatMap((_, first) => {
  const order = [0, 1, 4, 2, 3].map((at) => (at + first) % contenders.length)
  return [order, order.toReversed()]
})

/**
 * Each contender has its turn in every block, and pays for its own garbage at the end of it. The ratios within a block are compared:
 * what slows the machine down for longer than a block falls on all.
 * @param {(at: number) => Promise<void>} once
 * @param {{ blocks: number, runs: number, warmUps: number }} options
 */
async function timedBlocks(once, { blocks, runs, warmUps }) {
  globalThis.gc?.()
  /** @type {number[][]} */
  const costs = contenders.map(() => [])
  for (let block = -warmUps; block < blocks; block++) {
    for (const at of orders[Math.abs(block) % orders.length] ?? []) {
      const before = process.cpuUsage()
      for (let run = 0; run < runs; run++) await once(at)
      globalThis.gc?.({ type: 'minor' })
      const { user, system } = process.cpuUsage(before)
      if (block >= 0) costs[at]?.push((user + system) / 1000 / runs / rounds)
    }
  }
  return contenders.map(({ name }, at) => {
    const own = costs[at] ?? []
    // Without telemetry is measured twice in each block, which halves the error of what is compared with.
    const without = (/** @type {number} */ block) =>
      ((costs[0]?.[block] ?? Number.NaN) + (costs[1]?.[block] ?? Number.NaN)) / 2
    const ratios = own.map((cost, block) => cost / without(block))
    return { name, cpu: medianInterval(own), ratio: medianInterval(ratios) }
  })
}

/**
 * @param {Awaited<ReturnType<typeof timedBlocks>>} rows
 * @param {{ blocks: number, runs: number }} options
 */
function blockArea(rows, { blocks, runs }) {
  const title = 'Telemetry'
  const explanation = `CPU time of a round, in ${blocks} blocks of ${runs} runs with ${rounds} rounds each (two spans and two durations a round, one of each a run). Ratio to the mean of both rounds without telemetry in the block: the median of all blocks, and the interval that holds it with 95 % confidence.`
  printTable(
    title,
    explanation,
    ['', 'CPU ratio', '95 %', 'ms CPU'],
    rows.map(({ name, cpu, ratio }) => [
      name,
      ratio.median.toFixed(4),
      `${ratio.low.toFixed(4)}–${ratio.high.toFixed(4)}`,
      figure(cpu.median),
    ]),
  )
  return { title, explanation, rows }
}

/**
 * The share of the busy time of the main thread in which a function of telemetry is on the stack, from samples.
 * @param {string} name @param {() => Promise<unknown>} run @param {number} times
 */
async function sampledShare(name, run, times) {
  const inspector = new Session()
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.setSamplingInterval', { interval: 200 })
  await inspector.post('Profiler.start')
  for (let at = 0; at < times; at++) await run()
  const { profile } = await inspector.post('Profiler.stop')
  inspector.disconnect()
  const { nodes, samples = [], timeDeltas = [] } = profile
  const kinds = kindsOf(nodes)
  const micros = { idle: 0, other: 0, capstan: 0, tracer: 0 }
  for (const [at, id] of samples.entries()) micros[kinds.get(id) ?? 'other'] += timeDeltas[at] ?? 0
  const busy = micros.other + micros.capstan + micros.tracer
  return {
    name,
    own: micros.capstan / busy,
    all: (micros.capstan + micros.tracer) / busy,
    microsARound: (micros.capstan + micros.tracer) / times / rounds,
  }
}

/**
 * Says of every node of a profile what its time is: `capstan` in the code of telemetry, `tracer` in the tracer and
 * meter that it calls.
 * @param {import('node:inspector').Profiler.ProfileNode[]} nodes
 */
function kindsOf(nodes) {
  /** @type {Map<number, 'idle' | 'other' | 'capstan' | 'tracer'>} */
  const kinds = new Map()
  /** @type {Map<number, number>} */
  const parents = new Map()
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id)
  // Parents come before their children.
  for (const { id, callFrame } of nodes) {
    const above = kinds.get(parents.get(id) ?? -1) ?? 'other'
    const { url, functionName } = callFrame
    if (functionName === '(idle)') kinds.set(id, 'idle')
    else if (/@opentelemetry/.test(url) || (above === 'capstan' && url.endsWith('tracers.mjs')))
      kinds.set(id, 'tracer')
    else if (above === 'other' && /session-spans/.test(url)) kinds.set(id, 'capstan')
    else kinds.set(id, above)
  }
  return kinds
}

/** @param {{ name: string, own: number, all: number, microsARound: number }[]} rows */
function shareArea(rows) {
  const title = 'Share of telemetry in a round'
  const explanation =
    'Samples of the main thread: the part of its time in the telemetry of Capstan, and with the tracer and meter that it calls.'
  printTable(
    title,
    explanation,
    ['', 'Capstan', 'with tracer', 'µs a round'],
    rows.map(({ name, own, all, microsARound }) => [
      name,
      `${(own * 100).toFixed(2)} %`,
      `${(all * 100).toFixed(2)} %`,
      microsARound.toFixed(1),
    ]),
  )
  return { title, explanation, rows }
}

/** Instructions do not depend on the load of the machine. @param {Workplace} workplace */
function countArea({ server, root: directory, place }) {
  const counter = instructionCounter()
  if (counter === undefined) {
    console.log('\nInstructions are not counted: there is neither `perf stat` with counters nor valgrind.')
    return []
  }
  const [fewer, more] = [4, 24]
  const millions = (/** @type {string} */ kind) => {
    const of = (/** @type {number} */ runs) => {
      const own = mkdtempSync(join(place, 'counted-'))
      const program = ['bench/production/counted.mjs', kind, server.url, directory, own, String(runs)]
      return counter.count([...steady, ...program], root) / 1e6
    }
    return (of(more) - of(fewer)) / (more - fewer) / rounds
  }
  const counted = contenders.map(({ kind, name }) => ({ name, round: millions(kind) }))
  const off = counted[0]?.round ?? Number.NaN
  const rows = counted.map((row) => ({ ...row, ratio: row.round / off }))
  const title = 'Instructions of a round'
  const explanation = `Millions, counted by ${counter.name}, V8 without its optimising compiler.`
  printTable(
    title,
    explanation,
    ['', 'millions', 'ratio'],
    rows.map(({ name, round, ratio }) => [name, figure(round), ratio.toFixed(4)]),
  )
  return [{ title, explanation, rows }]
}
