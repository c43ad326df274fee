// @ts-nocheck: plain JavaScript, run as it is.
// A process that asks model servers which send too much, one after the other, and says how each run ended and how much
// memory it took. Started by model-flood.test.ts with an order.
import { Agent } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

/** In megabytes: what is in use, without what only waits for the collector; and what the process has of the machine. */
function memory() {
  globalThis.gc()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { live: (heapUsed + external) / 2 ** 20, resident: rss / 2 ** 20 }
}

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
const { resident } = memory()
for (const at of order.floods.keys()) {
  const before = { live: memory().live, resident }
  const peak = { live: 0, resident: 0 }
  const look = () => {
    const now = memory()
    for (const kind of ['live', 'resident']) peak[kind] = Math.max(peak[kind], now[kind] - before[kind])
  }
  let ticks = 0
  const timer = setInterval(() => {
    ticks++
    // Collecting before each look would take longer than the floods.
    if (ticks % 40 === 1) look()
  }, 5)
  const outcome = await send(`flood-${at}/m`)
  look()
  clearInterval(timer)
  // Its session is closed: nothing of the flood may be left.
  const left = memory().live - before.live
  say({
    ...outcome,
    live: Math.round(peak.live),
    resident: Math.round(peak.resident),
    left: Math.round(left),
    ticks,
  })
}
await agent.close()
