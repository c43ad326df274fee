// @ts-nocheck: plain JavaScript, run as it is.
// A process that asks model servers which send too much, one after the other, and says how each run ended and how much memory it took.
// Started by model-flood.test.ts with an order.
import { Agent } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

const megabytes = () => process.memoryUsage().rss / 1024 / 1024

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
const send = (model) =>
  agent
    .session(order.workspace, { model, circuitBreakerThreshold: 1, sandbox: 'off' })
    .send('Go.')
    .then(
      ({ text }) => ({ text: text.slice(0, 100) }),
      ({ code, message }) => ({ code, message }),
    )
// Once without harm, so that everything is loaded.
await send('calm/m')
globalThis.gc?.()
// What all floods took together is compared with this: memory that one leaves behind counts for the next as well.
const before = megabytes()
for (const at of order.floods.keys()) {
  let peak = megabytes()
  let ticks = 0
  const timer = setInterval(() => {
    ticks++
    peak = Math.max(peak, megabytes())
  }, 5)
  const outcome = await send(`flood-${at}/m`)
  peak = Math.max(peak, megabytes())
  clearInterval(timer)
  say({ ...outcome, grown: Math.round(peak - before), ticks })
  globalThis.gc?.()
}
await agent.close()
