// @ts-nocheck: plain JavaScript, run as it is.
// A host with a supervised session, as a process of its own. Started by faults.test.ts with the compiled package and an order.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const [, , compiled, text] = process.argv
const { how, word, ends } = JSON.parse(text)
const { Agent } = await import(pathToFileURL(join(compiled, 'agent/agent.js')).href)
const { StdioTransport } = await import(pathToFileURL(join(compiled, 'supervise/index.js')).href)

const base = mkdtempSync(join(tmpdir(), 'capstan-supervised-'))
const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
const peer = fileURLToPath(new URL('peer.mjs', import.meta.url))
const session = agent.session(base, {
  sandbox: 'off',
  ahpTransport: new StdioTransport(process.execPath, [peer, how, word]),
})
await session.tool('ls', {})
process.stdout.write('{"ready":true}\n')
if (!ends) setInterval(() => undefined, 1_000)
