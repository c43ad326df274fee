// A server in a separate process, so that its memory is measured without its clients. The parent sends commands as
// messages: `go` starts the answers of the model, `memory` asks for the memory after a collection of garbage.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { createServer, listen } from 'capstan/server'
import { FileSessionStore } from 'capstan/store'
import { scriptedModel } from 'capstan/testing'

const root = mkdtempSync(join(tmpdir(), 'capstan-bench-server-'))
const text = Array.from({ length: Number(process.env['WORDS'] ?? 10) }, (_, at) => `word${at}`).join(' ')
let start = () => undefined
const started = new Promise((resolve) => {
  start = () => void resolve(undefined)
})
const agent = await Agent.create()
const store = new FileSessionStore(join(root, 'sessions'))
const server = createServer(agent, {
  token: 'a-token-for-the-benchmark',
  workspaces: [root],
  store,
  limits: { maxRequestsPerMinute: 1_000_000 },
  session: {
    model: scriptedModel(async () => {
      await started
      return text
    }),
  },
})
const { url, close } = await listen(server, { port: 0 })
process.on('message', async (message) => {
  if (message === 'go') start()
  if (message === 'memory') {
    for (let turn = 0; turn < 3; turn++) globalThis.gc?.()
    process.send?.({ rss: process.memoryUsage().rss, heap: process.memoryUsage().heapUsed })
  }
  if (message !== 'stop') return
  await server.close()
  await close()
  await agent.close()
  rmSync(root, { recursive: true, force: true })
  process.exit(0)
})
process.send?.({ url })
