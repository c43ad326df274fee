// @ts-nocheck: plain JavaScript, run as it is.
// A host with a supervised session, as a process of its own. Started by faults.test.ts with an order.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, StdioTransport } from 'capstan'

const [, , text] = process.argv
const { how, word, ends } = JSON.parse(text)

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
