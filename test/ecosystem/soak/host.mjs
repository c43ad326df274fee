// The host of the soak, as a process of its own: a served schedule whose model wakes itself up, with a small context
// window, a fallback model, and telemetry over OTLP. Sends figures to its parent when it has ended.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getHeapSnapshot } from 'node:v8'
import { Agent, createJsonTool, FileSessionStore } from 'capstan'
import { installedPackages } from '../../../scripts/user-packages.mjs'

const { rounds, roundsPerRun, samples, prices, providerUrl, collectorUrl } = JSON.parse(
  process.argv[2] ?? '{}',
)
const place = mkdtempSync(join(tmpdir(), 'capstan-soak-'))
mkdirSync(join(place, 'agent/schedules'), { recursive: true })
mkdirSync(join(place, 'workspace'))
writeFileSync(join(place, 'agent/instructions.md'), 'You work for a long time.')
writeFileSync(
  join(place, 'agent/schedules/job.md'),
  `---\ncron: "0 0 * * *"\nwake_ups: 100\noverlap: queue\n---\nContinue.\n`,
)

/** Time that moves when the host says so. */
const clock = {
  time: Date.parse('2026-01-01T12:00:00Z'),
  /** @type {{ until: number, wake: () => void }[]} */
  sleepers: [],
  now: () => clock.time,
  /** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const sleeper = { until: clock.time + ms, wake: () => done() }
      const done = () => {
        clock.sleepers = clock.sleepers.filter((one) => one !== sleeper)
        signal.removeEventListener('abort', done)
        resolve()
      }
      signal.addEventListener('abort', done, { once: true })
      clock.sleepers.push(sleeper)
    }),
  /** @param {number} ms */
  async pass(ms) {
    const end = clock.time + ms
    for (;;) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
      const next = clock.sleepers.toSorted((a, b) => a.until - b.until)[0]
      if (next === undefined || next.until > end) break
      clock.time = Math.max(clock.time, next.until)
      next.wake()
    }
    clock.time = end
  },
}

const exporter = openExporter()
const model = { limit: { context: 6_000, output: 500 }, cost: prices }
const agent = await Agent.create(
  {
    defaultModel: 'soak/first',
    fallbackModels: ['soak/second'],
    providers: { soak: { baseUrl: `${providerUrl}/v1`, models: { first: model, second: model } } },
  },
  { userDir: join(place, 'user'), env: {}, telemetry: exporter.telemetry },
)
const sessionStore = new FileSessionStore(join(place, 'sessions'))

/** @type {Record<string, number>} */
const counts = {}
/** @type {string[]} */
const ended = []
/** @type {() => void} */
let wakeUp = () => undefined
const echo = createJsonTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  execute: (/** @type {{ word: string }} */ { word }) => word,
})
const served = await agent.serveAgentDir(join(place, 'agent'), join(place, 'workspace'), {
  sessionStore,
  durability: 'async',
  sandbox: 'off',
  tools: [echo],
  builtinTools: false,
  permissionPolicy: { allow: ['echo'] },
  retentionLimits: { maxRuns: 5, maxEventsPerRun: 50, maxTraceEvents: 50, maxMessages: 100 },
  retry: { maxRetries: 0 },
  clock,
  onEvent: (event) => {
    if (event.type === 'schedule_event') counts[event.event.type] = (counts[event.event.type] ?? 0) + 1
    if (event.type !== 'schedule_ended') return
    ended.push(event.report.status)
    wakeUp()
  },
})

/** Types of nodes that are not data of the program. */
const ofEngine = new Set(['code', 'hidden', 'object shape'])
const runs = Math.ceil(rounds / roundsPerRun)
const heap = []
await served.runNow('job')
for (let made = 1; made <= runs; made++) {
  while (ended.length < made) {
    await new Promise((resolve) => {
      wakeUp = () => resolve(undefined)
    })
  }
  if (made % Math.max(1, Math.floor(runs / samples)) === 0)
    heap.push({ rounds: made * roundsPerRun, ...(await heapNow()) })
  if (made < runs) await clock.pass(65_000)
}
const session = served.session('job')
await served.stop()
const spending = session?.spending()
const messages = session?.history().length
await agent.close()
await exporter.close()

const reader = await Agent.create({}, { userDir: join(place, 'user'), env: {} })
const again = await reader.openSession('schedule:job', { sessionStore })
const log = {
  messages: again.history().length,
  spending: again.spending(),
  runs: (await again.runs()).length,
}
await reader.close()
rmSync(place, { recursive: true, force: true })
process.send?.({ heap, counts, ended, messages, spending, log })
process.disconnect?.()

/**
 * The heap after collection, and what of it is data: a snapshot without the parts of V8 itself, which compiles code and
 * collects types for as long as a process works.
 */
async function heapNow() {
  for (let n = 0; n < 4; n++) globalThis.gc?.()
  const bytes = process.memoryUsage().heapUsed
  const chunks = []
  for await (const chunk of getHeapSnapshot()) chunks.push(chunk)
  const { snapshot, nodes } = JSON.parse(Buffer.concat(chunks).toString())
  const { node_fields: fields, node_types: types } = snapshot.meta
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')]
  let data = 0
  for (let at = 0; at < nodes.length; at += fields.length)
    if (!ofEngine.has(types[type][nodes[at + type]])) data += nodes[at + size]
  return { bytes, data }
}

function openExporter() {
  const load = createRequire(join(installedPackages, 'entry.js'))
  const { BasicTracerProvider, BatchSpanProcessor } = load('@opentelemetry/sdk-trace-base')
  const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-http')
  const { MeterProvider, PeriodicExportingMetricReader } = load('@opentelemetry/sdk-metrics')
  const { OTLPMetricExporter } = load('@opentelemetry/exporter-metrics-otlp-http')
  const traces = new BasicTracerProvider({
    spanProcessors: [
      new BatchSpanProcessor(
        new OTLPTraceExporter({ url: `${collectorUrl}/v1/traces`, timeoutMillis: 60_000 }),
      ),
    ],
  })
  const metrics = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: `${collectorUrl}/v1/metrics`, timeoutMillis: 60_000 }),
        // Generous: a busy machine takes seconds for a request.
        exportTimeoutMillis: 60_000,
      }),
    ],
  })
  return {
    telemetry: { tracer: traces.getTracer('soak'), meter: metrics.getMeter('soak') },
    close: async () => {
      await traces.shutdown()
      await metrics.shutdown()
    },
  }
}
