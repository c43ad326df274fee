// @ts-nocheck: plain JavaScript, run as it is.
// A process that asks a model server which sends too much, and says how the run ended and how much memory it took. Started by
// model-flood.test.ts with an order.
import { Agent } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

const megabytes = () => process.memoryUsage().rss / 1024 / 1024

const agent = await Agent.create(
  {
    defaultModel: 'flood/m',
    providers: [
      { name: 'flood', api: order.api, apiKey: 'key-0123456789', baseUrl: order.url, models: [{ id: 'm' }] },
    ],
  },
  { userDir: order.userDir, env: {} },
)
const open = () => agent.session(order.workspace, { circuitBreakerThreshold: 1, sandbox: 'off' })
// Once without harm, so that everything is loaded.
await open()
  .send('calm')
  .catch(() => undefined)
globalThis.gc?.()
const before = megabytes()
let peak = before
let ticks = 0
const timer = setInterval(() => {
  ticks++
  peak = Math.max(peak, megabytes())
}, 5)
say({ ready: true })
const outcome = await open()
  .send('flood')
  .then(
    ({ text }) => ({ text: text.slice(0, 100) }),
    ({ code, message }) => ({ code, message }),
  )
peak = Math.max(peak, megabytes())
clearInterval(timer)
say({ ...outcome, grown: Math.round(peak - before), ticks })
await agent.close()
