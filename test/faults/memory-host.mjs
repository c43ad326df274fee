// @ts-nocheck: plain JavaScript, run as it is.
// A process that remembers one thing after the other, and says when each is safe. Started by memory.test.ts with
// an order.
import { Agent, FileMemoryStore, SequentialIdGenerator } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
// Ids that every host counts alike: the names of their memories collide all the time.
const session = agent.session(order.workspace, {
  memoryStore: new FileMemoryStore(order.directory),
  hostEnv: { idGenerator: new SequentialIdGenerator('m') },
  sandbox: 'off',
})
say({ ready: true })
for (let at = 0; at < order.count; at++) {
  const mark = `${order.host}-${at}`
  const { id } = await session.rememberSuccess(
    'same task',
    ['bash'],
    `begin ${mark} ${'x'.repeat((at * 997) % 12_000)} end ${mark}`,
  )
  say({ id, mark })
}
await agent.close()
