// `npm run soak`: the long form of test/ecosystem/soak.test.ts. Prints its figures, and fails when memory grows or when
// the log, the cost or the spans do not agree with what the provider counted.
import { runSoak } from '../test/ecosystem/soak/soak.mjs'
import { installUserPackages } from './user-packages.mjs'

/** More than this, and something is retained for every round. The messages of a round of the soak have about 3 KB. */
const maxGrowth = 300

/** @param {string[]} args the number of rounds (2,000 when left out) */
export async function soak([given = '2000']) {
  await installUserPackages()
  const rounds = Number(given)
  const startedAt = performance.now()
  const { heap, counts, ended, messages, spending, log, charged, received } = await runSoak({ rounds })
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  const growth = growthOf(heap)
  console.log(`${charged.rounds} rounds in ${seconds} s`)
  console.log('rounds   data    with code   (MB after collection)')
  for (const { rounds: at, data, bytes } of heap)
    console.log(`${String(at).padStart(6)}   ${megabytes(data)}   ${megabytes(bytes)}`)
  console.log(
    `growth of data after the first quarter: ${Math.round(growth)} bytes a round (at most ${maxGrowth})`,
  )
  const { context_compacted: compactions = 0, model_fallback: fallbacks = 0 } = counts
  console.log(
    `${compactions} compactions, ${fallbacks} fallbacks, ${counts['model_circuit_opened'] ?? 0} open circuits, ${ended.length - 1} wake-ups`,
  )
  console.log(`${charged.requests} requests answered, ${charged.failed} failed; ${charged.tokens} tokens`)
  console.log(
    `cost in dollars: ${charged.costUsd.toFixed(6)} charged, ${spending.costUsd.toFixed(6)} in the session, ${log.spending.costUsd.toFixed(6)} in the log`,
  )
  console.log(`spans received: ${JSON.stringify(received.spans)}; tokens of spans: ${received.tokens}`)
  const problems = [
    growth > maxGrowth && 'memory grows',
    charged.rounds < rounds && 'rounds are missing',
    ended.some((/** @type {string} */ status) => status !== 'completed') && 'a run failed',
    log.messages !== messages && 'the log has not the messages of the session',
    [spending, log.spending].some(({ usage }) => usage.totalTokens !== charged.tokens) && 'tokens differ',
    [spending, log.spending].some(({ costUsd }) => Math.abs(costUsd - charged.costUsd) > 1e-6) &&
      'costs differ',
    received.tokens !== charged.tokens && 'the spans have not all tokens',
    received.spans.chat !== charged.requests + charged.failed && 'requests without a span, or twice',
    received.withoutEnd > 0 && 'spans without an end',
  ].filter((problem) => problem !== false)
  for (const problem of problems) console.error(`FAILED: ${problem}`)
  return problems.length === 0 ? 0 : 1
}

/** @param {number} bytes */
function megabytes(bytes) {
  return (bytes / 2 ** 20).toFixed(2).padStart(5)
}

/**
 * Bytes a round: the slope of the line through all samples after the first quarter, in which caches are filled.
 * @param {readonly { rounds: number, data: number }[]} heap
 */
function growthOf(heap) {
  const later = heap.slice(Math.floor(heap.length / 4))
  const mean = (/** @type {number[]} */ values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const x = mean(later.map(({ rounds }) => rounds))
  const y = mean(later.map(({ data }) => data))
  const above = later.reduce((sum, { rounds, data }) => sum + (rounds - x) * (data - y), 0)
  return above / later.reduce((sum, { rounds }) => sum + (rounds - x) ** 2, 0)
}
