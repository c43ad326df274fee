// @ts-nocheck: plain JavaScript, run as it is.
// A process that wants to write one session, and holds it once it may. Started by two-processes.test.ts with an order.
import { setTimeout as wait } from 'node:timers/promises'
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const store = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
say({ ready: true })
// All begin at the same moment.
while (Date.now() < order.at) await wait(1)
for (;;) {
  const session = agent.session(order.workspace, {
    sessionStore: store,
    sessionId: order.sessionId,
    sandbox: 'off',
    model: scriptedModel(() => `I am ${process.pid}.`),
  })
  try {
    await session.send(`Who are you? ${process.pid}`)
    say({ held: process.pid, at: Date.now() })
    break
  } catch (error) {
    if (!order.insist || error.code !== 'session_locked') {
      say({ refused: error.code, message: error.message })
      await agent.close()
      process.exit(0)
    }
    await session.close()
    await wait(20)
  }
}
// Holds it until it is killed.
await wait(600_000)
