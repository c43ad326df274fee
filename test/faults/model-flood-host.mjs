// @ts-nocheck: plain JavaScript, run as it is.
// A process that asks model servers which send too much, one after the other, and says how each run ended and how much
// memory it took. Started by model-flood.test.ts with an order.
import { Agent } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

/** In megabytes: what is in use, with what waits for the collector, and what the process has of the machine. */
function memory() {
  const { rss, heapUsed, external } = process.memoryUsage()
  return { live: (heapUsed + external) / 2 ** 20, resident: rss / 2 ** 20 }
}

/** The same without what waits for the collector. A collection takes as long as a short flood. */
function collectedMemory() {
  globalThis.gc()
  return memory()
}

/** In megabytes: while no more than this is in use, it does not matter how much of it waits for the collector. */
const uncollected = 60

const agent = await Agent.create(
  {
    defaultModel: 'calm/m',
    providers: [
      { name: 'calm', url: order.calm },
      ...order.floods.map(({ url, api }, at) => ({ name: `flood-${at}`, url, api })),
    ].map(({ name, url, api }) => ({
      name,
      api,
      apiKey: 'key-0123456789',
      baseUrl: url,
      models: [{ id: 'm' }],
    })),
  },
  { userDir: order.userDir, env: {} },
)
async function send(model) {
  const session = agent.session(order.workspace, { model, circuitBreakerThreshold: 1, sandbox: 'off' })
  const outcome = await session.send('Go.').then(
    ({ text }) => ({ text: text.slice(0, 100) }),
    ({ code, message }) => ({ code, message }),
  )
  await session.close()
  return outcome
}
// Once without harm, so that everything is loaded.
await send('calm/m')
const atFirst = collectedMemory()
let live = atFirst.live
for (const at of order.floods.keys()) {
  const before = { live, resident: atFirst.resident }
  const peak = { live: 0, resident: 0 }
  const count = (now) => {
    for (const kind of ['live', 'resident']) peak[kind] = Math.max(peak[kind], now[kind] - before[kind])
  }
  let ticks = 0
  let collectAt = 0
  const timer = setInterval(() => {
    ticks++
    const now = memory()
    if (now.live - before.live < uncollected) count(now)
    else if (ticks >= collectAt) {
      // Collecting before each look would take longer than the floods.
      collectAt = ticks + 40
      count(collectedMemory())
    }
  }, 5)
  const outcome = await send(`flood-${at}/m`)
  clearInterval(timer)
  // Its session is closed: nothing of the flood may be left.
  let after = collectedMemory()
  count(after)
  // Some buffers are only free after a second collection.
  if (after.live - before.live > 10) after = collectedMemory()
  live = after.live
  say({
    ...outcome,
    live: Math.round(peak.live),
    resident: Math.round(peak.resident),
    left: Math.round(live - before.live),
    ticks,
  })
}
await agent.close()
