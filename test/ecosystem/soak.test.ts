import { expect, it } from 'vitest'
import { runSoak } from './soak/soak.mjs'

// `npm run soak` is the long form, which judges the memory as well. It takes a sample of the heap here, at the
// end: three took half of the processor time of the test.
const rounds = 60

it(`a schedule works for ${rounds} rounds with compaction, fallback, wake-ups and telemetry over OTLP`, async () => {
  const figures = await runSoak({ rounds, samples: 1 })
  const { heap, counts, ended, messages, spending, log, charged, received } = figures
  expect(heap).toEqual([{ rounds, bytes: expect.any(Number), data: expect.any(Number) }])
  expect(ended).toEqual(['completed', 'completed', 'completed'])
  expect(counts['turn_start']).toBe(rounds)
  expect(counts['context_compacted']).toBeGreaterThan(0)
  expect(counts['model_fallback']).toBeGreaterThan(0)
  expect(counts['model_circuit_opened']).toBeGreaterThan(0)
  // The cost is the sum of the requests, in the session, in its log and in the spans.
  expect(charged.rounds).toBe(rounds)
  expect(spending.usage.totalTokens).toBe(charged.tokens)
  expect(spending.costUsd).toBeCloseTo(charged.costUsd, 9)
  expect(log.spending.usage).toEqual(spending.usage)
  expect(log.spending.costUsd).toBeCloseTo(charged.costUsd, 9)
  expect(log.messages).toBe(messages)
  expect(received.tokens).toBe(charged.tokens)
  expect(received.withoutEnd).toBe(0)
  const failed = charged.failed
  expect(received.spans).toEqual({
    invoke_agent: 3,
    execute_tool: rounds - 3,
    chat: charged.requests + failed,
  })
  expect(received.metrics).toEqual({
    'gen_ai.invoke_agent.duration': 3,
    'gen_ai.execute_tool.duration': rounds - 3,
    'gen_ai.client.operation.duration': charged.requests + failed,
  })
}, 600_000)
