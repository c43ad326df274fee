// Rounds of a run without telemetry, and with a tracer of the host.
import { existsSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { compare, comparisonArea } from '../loop/compare.mjs'
import { hostOptions } from '../loop/host-options.mjs'
import { printTable } from '../report.mjs'

// Short pieces of work in many pairs: the speed of a shared machine changes more slowly than from one to the next.
const count = 10

/**
 * @param {import('../loop/workplace.mjs').Workplace} workplace
 * @param {{ rounds: number, warmUps: number }} options
 */
export async function measureTracing({ root, agentFor }, { rounds, warmUps }) {
  const plan = `rounds-${count}`
  const off = await agentFor(plan)
  const on = await agentFor(plan, { telemetry: recordingTelemetry() })
  const sdk = sdkTelemetry()
  const real = sdk && (await agentFor(plan, { telemetry: sdk }))
  const rounded = (/** @type {import('capstan').Agent} */ agent) => async () => {
    const session = agent.session(root, hostOptions)
    const { toolCallsCount } = await session.send('Read all of it.')
    if (toolCallsCount !== count) throw new Error(`${toolCallsCount} files were read`)
    await session.close()
  }
  const rows = await compare(
    [
      { name: 'telemetry off', run: rounded(off) },
      { name: 'off a second time, as a control', run: rounded(await agentFor(plan)) },
      { name: 'on, a tracer that stores spans', run: rounded(on) },
      ...(real === undefined ? [] : [{ name: 'on, the SDK of OpenTelemetry', run: rounded(real) }]),
    ],
    { rounds, warmUps, pieces: count },
  )
  const explanation = `Runs of ${count} rounds, one \`read\` each: two spans and two durations a round and one of each a run, with all attributes; times for one round. The median ratio of ${rounds} pairs varies by about ${Math.round((125 / Math.sqrt(rounds)) * spreadOf(rows[2]))} %.`
  const area = comparisonArea('Telemetry', explanation, rows)
  const shares = [
    await sampledShare('a tracer that stores spans', rounded(on), rounds),
    ...(real === undefined ? [] : [await sampledShare('the SDK of OpenTelemetry', rounded(real), rounds)]),
  ]
  return {
    areas: [area, shareArea(shares)],
    ratio: rows[2]?.ratio.median ?? Number.NaN,
    share: shares[0]?.all ?? Number.NaN,
  }
}

/**
 * One standard deviation of the ratios, taken from the values between which eight of ten lie.
 * @param {import('../loop/compare.mjs').Comparison | undefined} row
 */
function spreadOf(row) {
  return row === undefined ? 0 : (row.ratio.p90 - row.ratio.p10) / 2.56
}

/**
 * The share of the busy time of the main thread in which a function of telemetry is on the stack, from samples. Other
 * work of the machine slows both parts alike, so that this is steadier than the ratio of two runs.
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
  const own = micros.capstan / (busy - micros.tracer)
  return {
    name,
    own,
    all: (micros.capstan + micros.tracer) / busy,
    microsARound: micros.capstan / times / count,
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
    else if (/@opentelemetry/.test(url) || (above === 'capstan' && url.endsWith('tracing.mjs')))
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
    ['', 'Capstan', 'with tracer', 'µs a round in Capstan'],
    rows.map(({ name, own, all, microsARound }) => [
      name,
      `${(own * 100).toFixed(2)} %`,
      `${(all * 100).toFixed(2)} %`,
      microsARound.toFixed(1),
    ]),
  )
  return { title, explanation, rows }
}

/** Stores spans as an exporter gets them, and nothing else: what Capstan itself adds. */
function recordingTelemetry() {
  let spans = 0
  /** @type {object[]} */
  let stored = []
  return {
    tracer: {
      startSpan(/** @type {string} */ name, /** @type {{ attributes?: object }} */ options = {}) {
        const place = {
          traceId: '1'.repeat(32),
          spanId: String(++spans).padStart(16, '0'),
          traceFlags: 1,
        }
        const span = { name, attributes: { ...options.attributes }, startedAt: Date.now(), endedAt: 0 }
        return {
          setAttributes: (/** @type {object} */ more) => Object.assign(span.attributes, more),
          setStatus: () => undefined,
          spanContext: () => place,
          end: () => {
            span.endedAt = Date.now()
            stored.push(span)
            if (stored.length >= 512) stored = []
          },
        }
      },
    },
    meter: { createHistogram: () => ({ record: () => undefined }) },
  }
}

/** The SDK with its batching processor, where the packages of the ecosystem tests are installed. */
function sdkTelemetry() {
  const packages = join(import.meta.dirname, '../../.build/ecosystem/node_modules')
  if (!existsSync(join(packages, '@opentelemetry/sdk-trace-base'))) return undefined
  const load = createRequire(join(packages, 'entry.js'))
  const { BasicTracerProvider, BatchSpanProcessor } = load('@opentelemetry/sdk-trace-base')
  const exporter = {
    export: (/** @type {unknown} */ _spans, /** @type {(result: { code: number }) => void} */ done) =>
      done({ code: 0 }),
    shutdown: async () => undefined,
  }
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
  return { tracer: provider.getTracer('bench') }
}
