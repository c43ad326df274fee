// The provider of the soak, as a process of its own: a model server on loopback that counts what it charges. The parent
// asks for the totals with any message.
import { startModelServer } from 'capstan/testing'

const { roundsPerRun, prices } = JSON.parse(process.argv[2] ?? '{}')
const totals = { requests: 0, failed: 0, summaries: 0, rounds: 0, tokens: 0, costUsd: 0 }
let asked = 0

const server = await startModelServer(({ body: given }) => {
  const body = /** @type {import('capstan').JsonObject} */ (given)
  forget(/** @type {unknown[]} */ (server.requests))
  if (body['model'] === 'first' && isDown(asked++)) {
    totals.failed++
    return { status: 503, message: 'The provider is overloaded.' }
  }
  const usage = { inputTokens: Math.ceil(JSON.stringify(body).length / 4), outputTokens: 40 }
  totals.requests++
  totals.tokens += usage.inputTokens + usage.outputTokens
  totals.costUsd += (usage.inputTokens * prices.input + usage.outputTokens * prices.output) / 1_000_000
  // Only requests of the loop have tools.
  if (body['tools'] === undefined) {
    totals.summaries++
    return { text: 'A summary of the work so far.', usage }
  }
  const at = totals.rounds++ % roundsPerRun
  if (at === 0)
    return { toolCalls: [call('wake_up', { after_seconds: 60, note: `round ${totals.rounds}` })], usage }
  if (at === roundsPerRun - 1) return { text: 'That is all for now.', usage }
  return { toolCalls: [call('echo', { word: `word ${totals.rounds} `.repeat(40) })], usage }
})

/** The server remembers every request. @param {unknown[]} requests */
function forget(requests) {
  requests.length = 0
}

/** Every seventh request fails, and once enough in a row that the circuit of the model opens. @param {number} n */
function isDown(n) {
  return n % 7 === 6 || (n >= 20 && n < 25)
}

/** @param {string} name @param {import('capstan').JsonObject} args */
function call(name, args) {
  return { id: `call_${totals.rounds}`, name, args }
}

process.on('message', () => process.send?.(totals))
process.send?.({ url: server.url })
