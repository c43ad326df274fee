// @ts-nocheck: plain JavaScript, run as it is.
// A process that wants to write one session, and holds it once it may. Started by two-processes.test.ts with the compiled package and an
// order.
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [, , compiled, given] = process.argv
const order = JSON.parse(given)
const load = (path) => import(pathToFileURL(join(compiled, path)).href)
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)
const { Agent } = await load('agent/agent.js')
const { scriptedModel } = await load('testing/scripted-model.js')
const { FileSessionStore } = await load('store/file/file-session-store.js')
const { SqliteSessionStore } = await load('store/sqlite/sqlite-store.js')
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
