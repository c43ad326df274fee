// @ts-nocheck: plain JavaScript, run as it is.
// A host with a session at work, as a process of its own: it closes its agent when a signal comes or its output is
// gone, and ends by itself. Started by signals.test.ts with an order.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { order } from '../support/host-parts.mjs'

const base = mkdtempSync(join(tmpdir(), 'capstan-signals-'))
const agent = await Agent.create(
  {
    defaultModel: 'openai/m',
    providers: [
      { name: 'openai', apiKey: 'key-of-the-provider', baseUrl: `${order.url}/v1`, models: [{ id: 'm' }] },
    ],
  },
  { userDir: join(base, 'user'), env: {} },
)
const session = agent.session(base, {
  sandbox: 'off',
  permissionPolicy: { allow: ['bash'] },
  onAsk: () => ({ decision: 'once' }),
  env: { WORD: order.word },
})
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

/** What keeps a process alive; the pipe to the parent, and what watches for signals, do not. */
function handles() {
  const harmless = ['PipeWrap', 'TTYWrap', 'SignalWrap', 'FSReqPromise', 'CloseReq', 'Timeout']
  return process.getActiveResourcesInfo().filter((one) => !harmless.includes(one))
}

async function stop() {
  const startedAt = performance.now()
  await agent.close()
  const closedMs = Math.round(performance.now() - startedAt)
  rmSync(base, { recursive: true, force: true })
  // No process.exit: a closed agent holds nothing that keeps Node alive. What is ending has a moment to be gone.
  let left = handles()
  while (left.length > 0 && performance.now() - startedAt < 60_000) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    left = handles()
  }
  if (order.stop !== 'stdout')
    say({ closedMs, left, leftMs: Math.round(performance.now() - startedAt) - closedMs })
  process.exitCode = 7
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, stop)
process.stdout.on('error', stop)

const sending = session.send('Go.').then(
  ({ text: answer }) => ({ answer }),
  (error) => ({ code: error.code }),
)
if (order.stop === 'end') {
  const result = await sending
  say(result)
  await stop()
} else {
  for await (const { event } of session.watch((await session.currentRun()).id))
    if (event.type === order.at) {
      say({ at: event.type })
      break
    }
  // A closed reader is noticed by writing.
  const beat = order.stop === 'stdout' ? setInterval(() => say({ beat: true }), 20) : undefined
  const result = await sending
  clearInterval(beat)
  if (order.stop !== 'stdout') say(result)
}
