// @ts-nocheck: plain JavaScript, run as it is.
// One node of several that serve the same directory. Started with an order.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const store = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: order.env ?? {} })
const served = await agent.serveAgentDir(order.dir, order.workspace, {
  // A node that does not ask the database for the time.
  sessionStore: order.ownClock ? Object.assign(store, { now: undefined }) : store,
  // A machine whose clock is wrong.
  ...(order.skewMs !== undefined && { clock: skewedClock(order.skewMs) }),
  sandbox: 'off',
  model: scriptedModel(
    order.steps ??
      (async () => {
        say({ asked: true })
        if (order.hang) await new Promise(() => undefined)
        return `I am ${process.pid}.`
      }),
  ),
  onEvent: (event) => {
    if (event.type === 'schedule_fired') say({ begun: event.firedAtMs })
  },
  onResult: ({ status, firedAtMs, reason, error }) =>
    say({ status, firedAtMs, reason, ...(error !== undefined && { error: error.message }) }),
})
say({ ready: true })
// Killed between what it has promised and the fire for it.
if (order.request !== undefined) {
  say({ accepted: (await served.webhook(new Request('http://node/v1/hooks/job', order.request))).status })
  process.kill(process.pid, 'SIGKILL')
}
if (order.runs !== undefined) {
  say({ ran: (await served.runNow(order.runs)).status })
  process.kill(process.pid, 'SIGKILL')
}

function skewedClock(skewMs) {
  return {
    now: () => Date.now() + skewMs,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
  }
}

process.on('SIGTERM', async () => {
  await served.stop()
  await agent.close()
  await store.close?.()
  say({ stopped: true })
})
