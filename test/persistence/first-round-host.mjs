// @ts-nocheck: plain JavaScript, run as it is.
// A process that begins a run and hangs in its first round: in the model's answer, or before the model is asked. It
// waits to be killed. Started by first-round.test.ts with an order.
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const hang = () => {
  say({ hanging: true })
  return new Promise(() => setInterval(() => undefined, 1000))
}

const sessionStore = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
const session = agent.session(order.workspace, {
  sessionId: 'killed',
  sessionStore,
  sandbox: 'off',
  model: scriptedModel(() => hang()),
  ...(order.in === 'hook' && {
    hooks: [{ id: 'slow', event: 'pre_prompt', config: { timeoutMs: 60_000 }, handler: hang }],
  }),
})
say({ ready: true })
await session.send(order.prompt)
