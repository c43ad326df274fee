// @ts-nocheck: plain JavaScript, run as it is.
// A host with a server of tools, as a process of its own, to be killed. Started by orphans.test.ts with the compiled package and an order.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , compiled, text] = process.argv
const { fault, word, badEntry } = JSON.parse(text)
const { Agent } = await import(pathToFileURL(join(compiled, 'agent/agent.js')).href)

const base = mkdtempSync(join(tmpdir(), 'capstan-orphans-'))
const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
const session = agent.session(base, { sandbox: 'off' })
await session.addMcp({ name: 'bad', command: process.execPath, args: [badEntry, fault, word] })
process.stdout.write('{"ready":true}\n')
setInterval(() => undefined, 1_000)
