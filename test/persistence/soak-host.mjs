// @ts-nocheck: plain JavaScript, run as it is.
// A process with one stored session that works for many rounds: says what each round leaves in memory and on disk.
// Started by soak.test.ts with an order.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, createJsonTool } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order } from '../support/host-parts.mjs'

const base = mkdtempSync(join(tmpdir(), 'capstan-soak-'))
const place = join(base, 'sessions')
const store = openStore(order.backend === 'file' ? place : join(place, 'all.db'))
const echo = createJsonTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  execute: ({ word }) => word,
})
const perRun = 20
let asked = 0
const model = scriptedModel(
  () => {
    model.requests.length = 0
    asked++
    if (asked % (perRun + 1) === 0) return 'That is all.'
    const word = `word ${String(asked).padStart(8, '0')}`
    return {
      text: 'Again.',
      toolCalls: [{ id: `c${String(asked).padStart(8, '0')}`, name: 'echo', args: { word } }],
    }
  },
  { facts: { contextTokens: 1_000_000_000 } },
)
const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
const session = agent.session(base, {
  sessionId: 'soak',
  sessionStore: store,
  durability: order.durability,
  sandbox: 'off',
  tools: [echo],
  builtinTools: false,
  permissionPolicy: { allow: ['echo'] },
  retentionLimits: { maxRuns: 5, maxEventsPerRun: 50, maxTraceEvents: 50 },
  model,
})

async function heap() {
  for (let n = 0; n < 4; n++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}

function onDisk(directory = place) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}

// Ten parts: what a round costs in the first and in the last. What is in memory is measured for the second half, when
// most code is compiled: a collection takes longer than a round.
const parts = []
const runsPerPart = Math.max(1, Math.round(order.rounds / 10 / perRun))
let memoryBefore
let diskBefore = 0
for (let part = 0; part < 10; part++) {
  if (part === 5) memoryBefore = await heap()
  const startedAt = performance.now()
  for (let n = 0; n < runsPerPart; n++)
    await session.send('Again and again.', order.keep === true ? {} : { history: [] })
  const ms = performance.now() - startedAt
  await session.save()
  const rounds = runsPerPart * perRun
  const memory = part < 5 ? undefined : await heap()
  const disk = onDisk()
  parts.push({
    memory: memory && Math.round((memory - memoryBefore) / rounds),
    disk: Math.round((disk - diskBefore) / rounds),
    ms: Math.round((ms / rounds) * 100) / 100,
  })
  memoryBefore = memory
  diskBefore = disk
}
console.log(
  JSON.stringify({
    parts,
    messages: session.history().length,
    handles: process.getActiveResourcesInfo().length,
    rssMb: Math.round(process.memoryUsage().rss / 2 ** 20),
  }),
)
await agent.close()
await store.close?.()
rmSync(base, { recursive: true, force: true })
