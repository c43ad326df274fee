// Rounds of a run without telemetry, and with a tracer of the host.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { compare, comparisonArea } from '../loop/compare.mjs'
import { hostOptions } from '../loop/host-options.mjs'

const count = 50

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
      { name: 'on, a tracer that stores spans', run: rounded(on) },
      ...(real === undefined ? [] : [{ name: 'on, the SDK of OpenTelemetry', run: rounded(real) }]),
    ],
    { rounds, warmUps, pieces: count },
  )
  const explanation = `A run of ${count} rounds, one \`read\` each: two spans and two durations a round, with all attributes; times for one round.`
  return { area: comparisonArea('Telemetry', explanation, rows), ratio: rows[1]?.ratio.median ?? Number.NaN }
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
