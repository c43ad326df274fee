// @ts-nocheck: plain JavaScript, run as it is.
// A process that wants to write one session, and holds it once it may. Started by two-processes.test.ts with an order.
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, FileSessionStore, SqliteSessionStore } from 'capstan'
import { scriptedModel } from 'capstan/testing'

const [, , given] = process.argv
const order = JSON.parse(given)
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)
const store =
  order.backend === 'file' ? new FileSessionStore(order.place) : new SqliteSessionStore(order.place)
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
