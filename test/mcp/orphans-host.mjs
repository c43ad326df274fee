// @ts-nocheck: plain JavaScript, run as it is.
// A host with servers of tools, as a process of its own, to be killed. Started by orphans.test.ts with an order.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'

const [, , text] = process.argv
const { servers, badEntry } = JSON.parse(text)

const base = mkdtempSync(join(tmpdir(), 'capstan-orphans-'))
const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
const session = agent.session(base, { sandbox: 'off' })
for (const { fault, word } of servers)
  await session.addMcp({ name: fault, command: process.execPath, args: [badEntry, fault, word] })
process.stdout.write('{"ready":true}\n')
setInterval(() => undefined, 1_000)
