import { spawn } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { RunClient } from '../../src/cluster/run-client.js'
import { Worker } from '../../src/cluster/worker.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import type { SessionOptions } from '../../src/session/options.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { TelemetryOptions } from '../../src/telemetry/options.js'
import { scriptedModel } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { stateOf } from '../persistence/kept.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { installedPackages, loadPackage } from './install.js'

/** What a finished span has, as the SDK exports it. */
type Span = {
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number; readonly message?: string }
  readonly parentSpanContext?: { readonly spanId: string }
  readonly links: readonly { readonly context: { readonly traceId: string; readonly spanId: string } }[]
  readonly ended: boolean
  spanContext(): { readonly traceId: string; readonly spanId: string }
}

// The packages are not dependencies of the project, so their types are not known here.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Untyped = any

let api: Untyped
let sdk: Untyped
let metricsSdk: Untyped
let contextSdk: Untyped

beforeAll(async () => {
  api = await loadPackage('@opentelemetry/api')
  sdk = await loadPackage('@opentelemetry/sdk-trace-base')
  metricsSdk = await loadPackage('@opentelemetry/sdk-metrics')
  contextSdk = await loadPackage('@opentelemetry/context-async-hooks')
})

function openTracer(): { telemetry: TelemetryOptions; spans(): Span[]; tracer: Untyped } {
  const exporter = new sdk.InMemorySpanExporter()
  const provider = new sdk.BasicTracerProvider({ spanProcessors: [new sdk.SimpleSpanProcessor(exporter)] })
  const tracer = provider.getTracer('test')
  return { telemetry: { tracer }, spans: () => exporter.getFinishedSpans(), tracer }
}

async function openAgent(telemetry: TelemetryOptions): Promise<{ agent: Agent; root: string }> {
  const directory = temporaryDirectory()
  const agent = await Agent.create({}, { telemetry, userDir: join(directory, '.user'), env: {} })
  onTestFinished(() => agent.close())
  return { agent, root: directory }
}

const readCall = { toolCalls: [{ id: 'c1', name: 'ls', args: { path: '.' } }] }

async function spansOf(
  script: Parameters<typeof scriptedModel>[0],
  options: SessionOptions = {},
  more: Partial<TelemetryOptions> = {},
): Promise<Span[]> {
  const { telemetry, spans } = openTracer()
  const { agent, root } = await openAgent({ ...telemetry, ...more })
  await agent
    .session(root, { model: scriptedModel(script), sessionId: 's1', ...options })
    .send('Go.')
    .catch(() => undefined)
  await agent.close()
  return spans()
}

const named = (spans: readonly Span[], name: string): Span => {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`no span ${name} in ${spans.map((span) => span.name).join(', ')}`)
  return found
}

const isChildOf = (child: Span, parent: Span): boolean =>
  child.parentSpanContext?.spanId === parent.spanContext().spanId &&
  child.spanContext().traceId === parent.spanContext().traceId

describe('telemetry of a run', () => {
  it('has a span for the run, each request and each call, by the GenAI conventions', async () => {
    const spans = await spansOf([
      { ...readCall, usage: { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 } },
      { text: 'Done.', usage: { inputTokens: 20, outputTokens: 5 } },
    ])
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      'chat script',
      'chat script',
      'execute_tool ls',
      'invoke_agent capstan',
    ])
    const run = named(spans, 'invoke_agent capstan')
    expect(spans.filter((span) => span !== run).every((span) => isChildOf(span, run))).toBe(true)
    expect(run).toMatchObject({ kind: 0, ended: true, status: { code: 0 } })
    expect(run.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'capstan',
      'gen_ai.conversation.id': 's1',
      'gen_ai.response.finish_reasons': ['stop'],
    })
    const [first] = spans.filter(({ name }) => name === 'chat script')
    expect(first?.kind).toBe(2)
    expect(first?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'script',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.response.finish_reasons': ['tool_calls'],
    })
    expect(named(spans, 'execute_tool ls').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'ls',
      'gen_ai.tool.call.id': 'c1',
      'gen_ai.tool.type': 'function',
      'capstan.verdict': 'allow',
      'capstan.call.origin': 'model',
    })
  })

  it('has usage on requests only, so that their sum is the total', async () => {
    const spans = await spansOf([
      { ...readCall, usage: { inputTokens: 10, outputTokens: 3 } },
      { text: 'Done.', usage: { inputTokens: 20, outputTokens: 5 } },
    ])
    const sum = spans.reduce(
      (total, { attributes }) => total + Number(attributes['gen_ai.usage.input_tokens'] ?? 0),
      0,
    )
    expect(sum).toBe(30)
  })

  it('has spans for the requests of a summary too', async () => {
    const { telemetry, spans } = openTracer()
    const { agent, root } = await openAgent(telemetry)
    const usage = { inputTokens: 10, outputTokens: 1 }
    const session = agent.session(root, { model: scriptedModel(() => ({ text: 'Well.', usage })) })
    for (const prompt of ['One.', 'Two.']) await session.send(prompt)
    await session.compact()
    const requests = spans().filter(({ name }) => name === 'chat script')
    expect(requests.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual([10, 10, 10])
    expect(session.spending().usage.promptTokens).toBe(30)
  })

  it('has a span for a refused call, with the verdict, the rule and an error', async () => {
    const spans = await spansOf([readCall, 'Done.'], { permissionPolicy: { deny: ['ls(*)'] } })
    const call = named(spans, 'execute_tool ls')
    expect(call.status.code).toBe(2)
    expect(call.attributes).toMatchObject({
      'error.type': 'refused',
      'capstan.verdict': 'deny',
      'capstan.rule': ['ls'],
    })
    expect(isChildOf(call, named(spans, 'invoke_agent capstan'))).toBe(true)
  })

  it('says how a call was approved, and that a rejected one was refused', async () => {
    const write = { toolCalls: [{ id: 'w', name: 'write', args: { file_path: 'a.txt', content: 'x' } }] }
    const approved = await spansOf([write, 'Done.'], { onAsk: async () => ({ decision: 'once' }) })
    expect(named(approved, 'execute_tool write').attributes).toMatchObject({
      'capstan.verdict': 'ask',
      'capstan.approval': 'once',
    })
    const rejected = await spansOf([write, 'Done.'], { onAsk: async () => ({ decision: 'reject' }) })
    expect(named(rejected, 'execute_tool write').attributes).toMatchObject({ 'error.type': 'refused' })
  })

  it('has no texts unless content is enabled, and then without secrets', async () => {
    const secret = `sk-proj-${'a1B2c3D4'.repeat(6)}`
    const script = [
      { toolCalls: [{ id: 'c', name: 'bash', args: { command: `echo ${secret}` } }] },
      'The answer.',
    ]
    const options: SessionOptions = { mode: 'full', sandbox: 'off' }
    const without = JSON.stringify((await spansOf(script, options)).map(({ attributes }) => attributes))
    expect(without).not.toContain('The answer.')
    expect(without).not.toContain('Go.')
    const spans = await spansOf(script, options, { recordContent: true })
    const content = JSON.stringify(spans.map(({ attributes }) => attributes))
    expect(named(spans, 'invoke_agent capstan').attributes['gen_ai.output.messages']).toContain('The answer.')
    expect(named(spans, 'execute_tool bash').attributes['gen_ai.tool.call.arguments']).toContain('echo')
    expect(content).not.toContain(secret)
  })

  it('has no text of a failed call in its status unless content is enabled', async () => {
    const script = [
      { toolCalls: [{ id: 'c', name: 'bash', args: { command: 'echo private words; exit 3' } }] },
      { toolCalls: [{ id: 'd', name: 'read', args: { file_path: 'private-name.txt' } }] },
      'Done.',
    ]
    const options: SessionOptions = { mode: 'full', sandbox: 'off' }
    const statuses = async (more: Partial<TelemetryOptions>): Promise<string> =>
      JSON.stringify((await spansOf(script, options, more)).map(({ status }) => status))
    const without = await statuses({})
    expect(without).toContain('tool_error')
    expect(without).not.toContain('private')
    expect(await statuses({ recordContent: true })).toContain('private-name.txt')
  })

  it('ends every span of a cancelled run', async () => {
    const { telemetry, spans } = openTracer()
    const { agent, root } = await openAgent(telemetry)
    let isAsked = (): void => undefined
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve
    })
    const model = scriptedModel(() => {
      isAsked()
      return new Promise(() => undefined)
    })
    const session = agent.session(root, { model })
    const sent = session.send('Go.').catch(() => undefined)
    await asked
    session.cancel()
    await sent
    await agent.close()
    expect(
      spans()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['chat script', 'invoke_agent capstan'])
    expect(spans().every(({ ended }) => ended)).toBe(true)
    expect(named(spans(), 'invoke_agent capstan')).toMatchObject({ status: { code: 2 } })
    expect(named(spans(), 'invoke_agent capstan').attributes['error.type']).toBe('cancelled')
  })

  it('has the work of a subagent below the call that started it', async () => {
    const spans = await spansOf((request: Untyped) => {
      const text = JSON.stringify(request.chatHistory)
      if (text.includes('Look around.') && !text.includes('Go.')) return 'Seen.'
      if (text.includes('Seen.')) return 'Done.'
      return {
        toolCalls: [
          {
            id: 't',
            name: 'task',
            args: { agent: 'explore', description: 'look', prompt: 'Look around.' },
          },
        ],
      }
    })
    const child = named(spans, 'invoke_agent explore')
    expect(isChildOf(child, named(spans, 'execute_tool task'))).toBe(true)
    const chats = spans.filter(({ name }) => name === 'chat script')
    expect(chats.filter((chat) => isChildOf(chat, child))).toHaveLength(1)
  })

  it('belongs to the span that is active in the host', async () => {
    const manager = new contextSdk.AsyncLocalStorageContextManager().enable()
    api.context.setGlobalContextManager(manager)
    onTestFinished(() => api.context.disable())
    const { telemetry, spans, tracer } = openTracer()
    const { agent, root } = await openAgent(telemetry)
    const outer = tracer.startSpan('request of the host')
    await api.context.with(api.trace.setSpan(api.context.active(), outer), () =>
      agent.session(root, { model: scriptedModel(['Done.']) }).send('Go.'),
    )
    outer.end()
    expect(isChildOf(named(spans(), 'invoke_agent capstan'), named(spans(), 'request of the host'))).toBe(
      true,
    )
  })

  it('continues the trace that the metadata of the run names, and ignores a name that is not valid', async () => {
    const { telemetry, spans } = openTracer()
    const { agent, root } = await openAgent(telemetry)
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const send = (traceparent: string): Promise<unknown> =>
      agent.session(root, { model: scriptedModel(['Done.']) }).send('Go.', { metadata: { traceparent } })
    await send(`00-${traceId}-b7ad6b7169203331-01`)
    await send('00-0-0-01')
    const [first, second] = spans().filter(({ name }) => name === 'invoke_agent capstan')
    expect(first?.spanContext().traceId).toBe(traceId)
    expect(first?.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    expect(second?.parentSpanContext).toBeUndefined()
  })

  it('continues the trace of the client at a worker of a cluster; a run that resumes the first links to it', async () => {
    const { telemetry, spans } = openTracer()
    const { agent, root } = await openAgent(telemetry)
    const store = new MemorySessionStore()
    const queue = new InProcessRunQueue({ store })
    const script = [
      { toolCalls: [{ id: 'c1', name: 'write', args: { file_path: 'a', content: 'b' } }] },
      'Done.',
    ]
    const session = { model: scriptedModel(script) }
    const worker = new Worker({ agent, store, queue, workspaces: { main: root }, suspendAfterMs: 0, session })
    onTestFinished(async () => {
      await worker.drain({ deadlineMs: 0 })
      await queue.close()
    })
    await worker.start()
    const client = new RunClient({ store, queue })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`
    const { runId, sessionId } = await client.submit({ prompt: 'Go.', traceparent, correlationId: 'order-7' })
    const state = async () => (await client.get(runId))?.state
    await expect.poll(state).toBe('waiting')
    await client.answer(runId, 'c1', 'once')
    await expect.poll(state).toBe('completed')
    const [first, second] = spans().filter(({ name }) => name === 'invoke_agent capstan')
    expect(first?.spanContext().traceId).toBe(traceId)
    expect(first?.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    expect(second?.links.map(({ context }) => context)).toMatchObject([
      { traceId, spanId: first?.spanContext().spanId },
    ])
    const { session: stored } = await stateOf(store, sessionId)
    expect(stored?.labels).toMatchObject({ correlationId: 'order-7' })
  })

  it('records durations of runs, requests and calls', async () => {
    const exporter = new metricsSdk.InMemoryMetricExporter(0)
    const reader = new metricsSdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
    const provider = new metricsSdk.MeterProvider({ readers: [reader] })
    await spansOf([readCall, 'Done.'], {}, { meter: provider.getMeter('test') })
    await reader.forceFlush()
    const [batch] = exporter.getMetrics()
    const counts = Object.fromEntries(
      batch.scopeMetrics[0].metrics.map((metric: Untyped) => [
        metric.descriptor.name,
        metric.dataPoints.reduce((sum: number, point: Untyped) => sum + point.value.count, 0),
      ]),
    )
    await provider.shutdown()
    expect(counts).toEqual({
      'gen_ai.invoke_agent.duration': 1,
      'gen_ai.client.operation.duration': 2,
      'gen_ai.execute_tool.duration': 1,
    })
  })

  it('has the state of the queue of a cluster, and how long runs waited for a worker', async () => {
    const exporter = new metricsSdk.InMemoryMetricExporter(0)
    const reader = new metricsSdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
    const provider = new metricsSdk.MeterProvider({ readers: [reader] })
    const { agent, root } = await openAgent({ meter: provider.getMeter('test') })
    const store = new MemorySessionStore()
    const queue = new InProcessRunQueue({ store })
    const client = new RunClient({ store, queue })
    const lost = await queue.join({ name: 'n', host: 'h', pid: 1, version: '1', slots: 1, lanes: ['old'] })
    await client.submit({ prompt: 'Go.', lane: 'old' })
    await lost.claim({ lanes: ['old'], max: 1 })
    await lost.leave()
    const model = scriptedModel([
      { toolCalls: [{ id: 'c1', name: 'write', args: { file_path: 'a', content: 'b' } }] },
    ])
    const session = { model }
    const lanes = ['default', 'old']
    const workspaces = { main: root }
    const options = { agent, store, queue, workspaces, lanes, suspendAfterMs: 0, maxTakeovers: 0, session }
    const worker = new Worker(options)
    onTestFinished(async () => {
      await worker.drain({ deadlineMs: 0 })
      await queue.close()
      await provider.shutdown()
    })
    await worker.start()
    await client.submit({ prompt: 'Go.' })
    await client.submit({ prompt: 'Go.', lane: 'night' })
    const state = async () => (await queue.list()).runs.map((run) => run.state)
    await expect.poll(state).toEqual(['queued', 'waiting', 'dead'])
    await reader.forceFlush()
    const metrics: Untyped[] = exporter.getMetrics()[0].scopeMetrics[0].metrics
    const points = (name: string): Untyped[] =>
      metrics
        .find(({ descriptor }) => descriptor.name === `capstan.queue.${name}`)
        .dataPoints.map(({ attributes, value }: Untyped) => [
          attributes['capstan.lane'],
          attributes['capstan.run.state'],
          value.count ?? value,
        ])
    expect(points('runs')).toEqual([
      ['night', 'queued', 1],
      ['night', 'active', 0],
      [undefined, 'waiting', 1],
      [undefined, 'dead', 1],
    ])
    expect(points('oldest_wait')).toEqual([['night', undefined, expect.any(Number)]])
    expect(points('takeovers')).toEqual([[undefined, undefined, 1]])
    expect(points('claim.duration')).toEqual([['default', undefined, 1]])
  })

  it('is exported over OTLP by the command, with the packages that are installed next to it', async () => {
    const receiver = await openReceiver()
    const copy = copyOfPackage()
    const { status, stderr } = await runCommand(join(copy, 'dist/cli/main.js'), receiver.url)
    expect(stderr).not.toContain('Telemetry')
    expect(status).toBe(0)
    const { spans, metrics, services } = receiver
    const run = spans.find(({ name }) => name === 'invoke_agent capstan')
    const others = spans.filter((span) => span !== run)
    expect(others.map(({ name }) => name)).toEqual(expect.arrayContaining(['chat rules', 'execute_tool ls']))
    for (const { traceId, parentSpanId } of others) {
      expect(traceId).toBe(run?.traceId)
      expect(parentSpanId).toBe(run?.spanId)
    }
    const call = others.find(({ name }) => name === 'execute_tool ls')
    expect(call?.attributes).toContainEqual({ key: 'capstan.verdict', value: { stringValue: 'allow' } })
    expect(new Set(metrics)).toEqual(
      new Set([
        'gen_ai.invoke_agent.duration',
        'gen_ai.client.operation.duration',
        'gen_ai.execute_tool.duration',
      ]),
    )
    expect([...services]).toEqual(['capstan'])
  })

  it('is refused by the command with advice when the packages are not installed', async () => {
    const { status, stderr } = await runCommand(join(root, 'dist/cli/main.js'), 'http://127.0.0.1:9')
    expect(status).not.toBe(0)
    expect(stderr).toContain('npm install @opentelemetry/sdk-trace-base')
  })

  it('does not disturb a run when the tracer throws, and reports it once', async () => {
    const tracer = {
      startSpan: () => {
        throw new Error('no tracer today')
      },
    }
    const { agent, root } = await openAgent({ tracer })
    const notices: string[] = []
    for await (const event of await agent
      .session(root, { model: scriptedModel([readCall, 'Done.']) })
      .stream('Go.')) {
      if (event.type === 'notice' && event.source === 'telemetry') notices.push(event.message)
      if (event.type === 'agent_end') expect(event.result.text).toBe('Done.')
    }
    expect(notices).toEqual([expect.stringContaining('no tracer today')])
  })
})

/** Capstan as it is installed next to the packages of OpenTelemetry. */
function copyOfPackage(): string {
  const copy = mkdtempSync(join(installedPackages, '../capstan-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  copyFileSync(join(root, 'package.json'), join(copy, 'package.json'))
  return copy
}

function runCommand(
  script: string,
  endpoint: string,
): Promise<{ readonly status: number | null; readonly stderr: string }> {
  const home = temporaryDirectory()
  const child = spawn(process.execPath, [script, 'run', '--otel', '--model', 'offline', 'List the files.'], {
    cwd: home,
    env: {
      PATH: process.env['PATH'] ?? '',
      CAPSTAN_HOME: join(home, '.capstan'),
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr })))
}

/** A span as a receiver decodes it. */
type ReceivedSpan = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: readonly { readonly key: string; readonly value: Untyped }[]
}

type Receiver = {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  readonly metrics: readonly string[]
  /** The `service.name` of each request. */
  readonly services: ReadonlySet<string>
}

/** The OTLP receiver of Elastic, which reads what is sent with the definitions of the protocol. */
async function openReceiver(): Promise<Receiver> {
  const { default: library } = await loadPackage('@elastic/mockotlpserver')
  const spans: ReceivedSpan[] = []
  const metrics: string[] = []
  const services = new Set<string>()
  const take = (resources: Untyped[]): Untyped[] =>
    resources.map((one) => {
      const { key, value } = one.resource.attributes[0]
      if (key === 'service.name') services.add(value.stringValue)
      return one
    })
  const server = new library.MockOtlpServer({
    logLevel: 'fatal',
    services: ['http'],
    httpHostname: '127.0.0.1',
    httpPort: 0,
    onTrace: ({ resourceSpans }: Untyped) => {
      for (const { scopeSpans } of take(resourceSpans))
        for (const scope of scopeSpans) spans.push(...scope.spans)
    },
    onMetrics: ({ resourceMetrics }: Untyped) => {
      for (const { scopeMetrics } of take(resourceMetrics))
        for (const scope of scopeMetrics) metrics.push(...scope.metrics.map(({ name }: Untyped) => name))
    },
  })
  await server.start()
  onTestFinished(() => server.close())
  return { url: server.httpUrl.origin, spans, metrics, services }
}
