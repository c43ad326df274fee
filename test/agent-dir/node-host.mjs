// @ts-nocheck: plain JavaScript, run as it is.
// One node of several that serve the same directory. Started by two-nodes.test.ts with an order.
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const store = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
const served = await agent.serveAgentDir(order.dir, order.workspace, {
  sessionStore: store,
  sandbox: 'off',
  model: scriptedModel(async () => {
    say({ asked: true })
    if (order.hang) await new Promise(() => undefined)
    return `I am ${process.pid}.`
  }),
  onEvent: (event) => {
    if (event.type === 'schedule_fired') say({ begun: event.firedAtMs })
  },
  onResult: ({ status, firedAtMs, reason, error }) =>
    say({ status, firedAtMs, reason, ...(error !== undefined && { error: error.message }) }),
})
say({ ready: true })
process.on('SIGTERM', async () => {
  await served.stop()
  await agent.close()
  await store.close?.()
  say({ stopped: true })
})
