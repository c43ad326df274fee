// @ts-nocheck: plain JavaScript, run as it is.
// A process with many sessions, some of them running at once: says what they weigh, how long the event loop was held,
// and who heard whose words. Then it has one session that runs again and again. Started by many-sessions.test.ts with an
// order.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Agent, createJsonTool } from 'capstan'
import { order, say } from '../support/host-parts.mjs'

const base = mkdtempSync(join(tmpdir(), 'capstan-many-'))
const echo = createJsonTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  execute: ({ word }) => word,
})
const agent = await Agent.create(
  {
    defaultModel: 'openai/m',
    providers: [
      { name: 'openai', apiKey: 'key-of-the-provider', baseUrl: `${order.url}/v1`, models: [{ id: 'm' }] },
    ],
  },
  { userDir: join(base, 'user'), env: {} },
)
const options = { sandbox: 'off', tools: [echo], permissionPolicy: { allow: ['echo'] } }

async function heap() {
  for (let n = 0; n < 4; n++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}

async function canaryRun(session, canary) {
  const startedAt = performance.now()
  const heard = []
  for await (const event of await session.stream(`Say ${canary}.`)) heard.push(event)
  const words = JSON.stringify(heard).match(/canary-\w+/g) ?? []
  const end = heard.at(-1)
  return {
    ms: performance.now() - startedAt,
    ok:
      end.type === 'agent_end' && end.result.text.includes(canary) && end.result.rounds === order.rounds + 1,
    strangers: words.filter((word) => word !== canary).length,
  }
}

async function weigh() {
  // Code that is compiled late must not be counted as a session's.
  for (let n = 0; n < 10; n++) {
    const session = agent.session(base, options)
    await canaryRun(session, `canary-w${n}`)
    await session.close()
  }
  const before = await heap()
  const sessions = Array.from({ length: order.open }, () => agent.session(base, options))
  const idle = (await heap()) - before
  return { before, sessions, idlePerSession: Math.round(idle / order.open) }
}

/** What a session weighs when all have rested, which they do after a second: asked again until it is small enough. */
async function restedPerSession(before) {
  const endsAt = performance.now() + 60_000
  for (;;) {
    const each = Math.round(((await heap()) - before) / order.open)
    if (each < order.most || performance.now() > endsAt) return each
  }
}

async function runMany({ before, sessions, idlePerSession }) {
  const loop = monitorEventLoopDelay({ resolution: 5 })
  loop.enable()
  const startedAt = performance.now()
  const results = []
  for (let at = 0; at < sessions.length; at += order.running)
    results.push(
      ...(await Promise.all(
        sessions.slice(at, at + order.running).map((session, n) => canaryRun(session, `canary-s${at + n}`)),
      )),
    )
  const ms = performance.now() - startedAt
  loop.disable()
  const usedPerSession = await restedPerSession(before)
  const refs = sessions.map((session) => new WeakRef(session))
  await Promise.all(sessions.map((session) => session.close()))
  sessions.length = 0
  const closedPerSession = Math.round(((await heap()) - before) / order.open)
  say({
    idlePerSession,
    usedPerSession,
    closedPerSession,
    aliveAfterClose: refs.filter((ref) => ref.deref() !== undefined).length,
    ms: Math.round(ms),
    finished: results.filter(({ ok }) => ok).length,
    strangers: results.reduce((sum, { strangers }) => sum + strangers, 0),
    p50: Math.round(results.map((one) => one.ms).sort((a, b) => a - b)[results.length >> 1]),
    loopP99: Math.round(loop.percentile(99) / 1e6),
    rssMb: Math.round(process.memoryUsage().rss / 2 ** 20),
  })
}

/** Runs in one session, again and again: how many bytes each leaves behind. */
async function again({ runs, keep }) {
  const session = agent.session(base, {
    ...options,
    retentionLimits: { maxRuns: 5, maxEventsPerRun: 50, maxTraceEvents: 50 },
  })
  const times = async (count) => {
    for (let n = 0; n < count; n++) await session.send(`Say canary-a${n}.`, keep ? {} : { history: [] })
  }
  await times(runs / 2)
  const handles = process.getActiveResourcesInfo().length
  // What leaks does so all the time; code that the engine compiles meanwhile does not.
  const windows = []
  let before = await heap()
  for (let n = 0; n < 3; n++) {
    await times(runs / 2)
    const after = await heap()
    windows.push(Math.round((after - before) / (runs / 2)))
    before = after
  }
  say({
    // The one in the middle: memory of other sessions that is freed late must not hide growth.
    bytesPerRun: windows.toSorted((a, b) => a - b)[1],
    windows,
    handles,
    handlesAfter: process.getActiveResourcesInfo().length,
    messages: session.history().length,
  })
  await session.close()
}

await runMany(await weigh())
for (const one of order.again) await again(one)
await agent.close()
rmSync(base, { recursive: true, force: true })
