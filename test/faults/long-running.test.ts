/**
 * A served schedule that works for many rounds with compaction, fallback models, wake-ups and telemetry on. Short form:
 * 60 rounds; `npm run faults -- 34 long-running` makes it 2,000. Memory grows by little more than the history, the log
 * can be read again and agrees with the session, and the cost is the sum of the requests.
 */
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { ModelError } from '../../src/model/errors.js'
import { estimateTokens } from '../../src/model/estimate-tokens.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { foldSession } from '../../src/store/fold-session.js'
import type { OtelSpan } from '../../src/telemetry/otel.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import type { CompletionRequest } from '../../src/tool/completion.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonObject } from '../../src/tool/json.js'
import { directoryWith, EventCollector, HandClock } from '../agent-dir/support.js'
import { factor } from '../support/fault-factor.js'

const rounds = Math.min(2_000, 60 * factor)
const call = (name: string, args: JsonObject) => ({ name, args })
const price = { input: 3, output: 15 }

it(`a schedule works for ${rounds} rounds with compaction, fallback, wake-ups and telemetry`, async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const heap = (): number => {
    for (let n = 0; n < 4; n++) collectGarbage()
    return process.memoryUsage().heapUsed
  }

  let expectedCost = 0
  let requests = 0
  const perRun = 20
  const facts = { contextTokens: 6_000, outputTokens: 500, price }
  let expectedTokens = 0
  /** What a provider counts and charges for a request. */
  const charge = (request: CompletionRequest) => {
    requests++
    const usage = { inputTokens: estimateTokens(request), outputTokens: 40 }
    expectedTokens += usage.inputTokens + usage.outputTokens
    expectedCost += (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1_000_000
    return usage
  }
  let worked = 0
  const script =
    (fails: boolean) =>
    (request: CompletionRequest, n: number): ScriptedStep => {
      if (fails && n % 7 === 6)
        return {
          error: new ModelError('model_unavailable', 'The provider is overloaded.', { retryable: true }),
        }
      const usage = charge(request)
      if (request.instructions === 'You write summaries.')
        return { text: 'A summary of the work so far.', usage }
      const at = worked++ % perRun
      if (at === 0)
        return { toolCalls: [call('wake_up', { after_seconds: 60, note: `round ${worked}` })], usage }
      if (at === perRun - 1) return { text: 'That is all for now.', usage }
      return { toolCalls: [call('echo', { word: `word ${worked} `.repeat(40) })], usage }
    }
  const model = scriptedModel(script(true), { facts, id: 'first' })
  const second = scriptedModel(script(false), { facts, id: 'second' })

  let openSpans = 0
  let spans = 0
  const span = (): OtelSpan => ({
    spanContext: () => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
    setAttributes: () => undefined,
    setStatus: () => undefined,
    end: () => {
      openSpans--
    },
  })
  const tracer = {
    startSpan: () => {
      openSpans++
      spans++
      return span()
    },
  }
  const meter = { createHistogram: () => ({ record: () => undefined }) }

  const dir = await directoryWith({
    'instructions.md': 'You work for a long time.',
    'schedules/job.md': '---\ncron: "0 0 * * *"\nwake_ups: 100\noverlap: queue\n---\nContinue.\n',
  })
  const base = await directoryWith({})
  const sessionStore = new FileSessionStore(join(base, 'sessions'))
  const agent = await Agent.create(
    {},
    { userDir: await directoryWith({}), env: {}, telemetry: { tracer, meter } },
  )
  const clock = new HandClock('2026-01-01T12:00:00Z')
  const counts: Record<string, number> = {}
  const collected = new EventCollector()
  const echo = createJsonTool<{ word: string }>({
    name: 'echo',
    description: 'Says it again.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    execute: ({ word }) => word,
  })
  const served = await agent.serveAgentDir(dir, base, {
    sessionStore,
    durability: 'async',
    sandbox: 'off',
    tools: [echo],
    builtinTools: false,
    permissionPolicy: { allow: ['echo'] },
    retentionLimits: { maxRuns: 5, maxEventsPerRun: 50, maxTraceEvents: 50 },
    retry: { maxRetries: 0 },
    model,
    fallbackModels: [second],
    clock,
    onEvent: (event) => {
      if (event.type === 'schedule_event') {
        const inner: AgentEvent = event.event
        counts[inner.type] = (counts[inner.type] ?? 0) + 1
        return
      }
      collected.onEvent(event)
    },
  })
  const runs = Math.ceil(rounds / perRun)
  const memory: number[] = []
  await served.runNow('job')
  for (let made = 1; made < runs; made++) {
    await clock.pass(65_000)
    const done = await collected.made(made + 1)
    expect(done.at(-1)?.status).toBe('completed')
    if (made % Math.max(1, Math.floor(runs / 10)) === 0) memory.push(heap())
    // The scripted models keep every request, which is no part of what is measured.
    for (const each of [model, second]) (each.requests as unknown[]).length = 0
  }
  const session = served.session('job')
  // Waits for the running fire: the clock does not move, so that nothing cuts it off.
  await served.stop()
  const figures = {
    ...{ rounds: worked, requests, spans, ...pick(counts) },
    memoryMb: memory.map((bytes) => Math.round((bytes / 2 ** 20) * 10) / 10),
  }
  console.info(`long-running: ${JSON.stringify(figures)}`)
  expect(worked).toBeGreaterThanOrEqual(rounds)
  expect(counts['context_compacted']).toBeGreaterThan(0)
  expect(counts['model_fallback']).toBeGreaterThan(0)
  const spent = session?.spending()
  expect(spent?.usage.totalTokens).toBe(expectedTokens)
  expect(spent?.costUsd).toBeCloseTo(expectedCost, 6)
  const inMemory = session?.history().length
  await agent.close()
  expect(openSpans).toBe(0)

  const stored = await sessionStore.read('schedule:job')
  const state = foldSession(stored?.records ?? [])
  expect(state.messages).toHaveLength(inMemory ?? -1)
  expect([...state.runs.values()].filter(({ status }) => status !== 'completed')).toEqual([])
  const woken = [...state.runs.values()].filter(({ trigger }) => trigger?.source === 'wake_up')
  expect(woken).toHaveLength(collected.ran().length - 1)
  expect(worked).toBe(state.runs.size * perRun)
  // The history stays in memory: about 3 KB a round here. The short form has few rounds, so its bound is wide.
  const grown = (memory.at(-1) ?? 0) - (memory[1] ?? 0)
  expect(grown / rounds).toBeLessThan(rounds < 1_000 ? 20_000 : 6_000)
}, 1_200_000)

function pick(counts: Readonly<Record<string, number>>) {
  const { context_compacted, model_fallback, model_circuit_opened = 0 } = counts
  return { context_compacted, model_fallback, model_circuit_opened }
}
