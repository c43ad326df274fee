// `npm run bench -- queue`: what a lane costs a call, over the same call without one and over the bare queue library.
// CPU time of this process counts. Exits with 1 when a budget is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, workOnQueue } from 'capstan'
import { createJsonTool } from 'capstan/tool'
import PQueue from 'p-queue'
import { compare, comparisonArea } from './loop/compare.mjs'
import { calibrate, keep } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const rounds = quick ? 6 : 40
/** Calls of one sample, and of those that are made at a time, so that most of them really wait. */
const pieces = 2_000
const together = 50

const tool = createJsonTool({
  name: 'count',
  description: 'Gives the number back.',
  kind: 'read',
  idempotent: true,
  parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  execute: (args) => ({ n: args['n'] }),
})
const root = mkdtempSync(join(tmpdir(), 'capstan-bench-queue-'))
const agent = await Agent.create()
const plain = agent.session(root, { tools: [tool] })
const lanes = agent.session(root, { tools: [tool], queueConfig: {} })
const everything = agent.session(root, { tools: [tool], queueConfig: { enableAllFeatures: true } })
const external = agent.session(root, {
  tools: [tool],
  queueConfig: { queryConcurrency: together, laneHandlers: { query: { mode: 'external' } } },
})
const bare = new PQueue({ concurrency: 4 })

/** @param {(n: number) => Promise<unknown>} call @param {number} count */
const inBatches =
  (call, count = pieces) =>
  async () => {
    for (let done = 0; done < count; done += together)
      keep(await Promise.all(Array.from({ length: together }, (_, at) => call(at))))
  }
/** @param {import('capstan').Session} session @param {number} [count] */
const through = (session, count) => inBatches((n) => session.tool('count', { n }), count)

const calibrations = [calibrate()]
const stop = new AbortController()
try {
  const library = await compare(
    [
      { name: 'a direct call of the tool', run: inBatches((n) => tool.call({ n })) },
      { name: 'the same in a bare p-queue', run: inBatches((n) => bare.add(() => tool.call({ n }))) },
    ],
    { rounds, warmUps: 5, pieces },
  )
  calibrations.push(calibrate())
  const session = await compare(
    [
      { name: 'through a session without lanes', run: through(plain) },
      { name: 'with lanes', run: through(lanes) },
      { name: 'with lanes, dead letters, metrics and alerts', run: through(everything) },
    ],
    { rounds, warmUps: 5, pieces },
  )
  calibrations.push(calibrate())
  const token = 'a-token-for-the-benchmark'
  const { url } = await external.serveQueue({ token })
  const worker = workOnQueue({
    url,
    token,
    concurrency: 8,
    signal: stop.signal,
    handlers: { count: (payload) => payload },
  })
  const some = 100
  const handedOut = await compare(
    [
      { name: 'without lanes', run: through(plain, some) },
      { name: 'handed to a worker over HTTP and back', run: through(external, some) },
    ],
    { rounds: Math.ceil(rounds / 3), pieces: some },
  )
  stop.abort()
  await worker
  calibrations.push(calibrate())

  /** Microseconds over the first. @param {import('./loop/compare.mjs').Comparison[]} rows */
  const over = (rows, at = 1) =>
    ((rows[at]?.cpu.median ?? Number.NaN) - (rows[0]?.cpu.median ?? Number.NaN)) * 1_000
  const areas = [
    comparisonArea(
      'The queue library alone',
      `${together} calls at a time, 4 at once; times for one.`,
      library,
    ),
    comparisonArea(
      'Calls of a session',
      `${together} calls at a time; in lanes, 4 at once; times for one.`,
      session,
    ),
    comparisonArea(
      'External tasks',
      'Claim, start and result over HTTP, both ends in this process; times for one.',
      handedOut,
    ),
    calibrationArea(calibrations),
  ]
  const micros = (/** @type {number} */ value) => `${value.toFixed(1)} µs`
  console.log(
    `a lane costs a call ${micros(over(session))}, with everything on ${micros(over(session, 2))}; a bare p-queue ${micros(over(library))}`,
  )
  const targets = [
    {
      name: 'a call in a lane',
      unit: 'times the call without',
      most: 1.5,
      found: session[1]?.ratio.median ?? Number.NaN,
    },
    { name: 'a lane, everything on', unit: 'µs a call', most: 60, found: over(session, 2) },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  for (const { name, unit, most, found, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(2)} ${unit}, target at most ${most}`)
  console.log(`written to ${writeResults('queue', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  stop.abort()
  await agent.close()
  rmSync(root, { recursive: true, force: true })
}
