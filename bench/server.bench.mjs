// `npm run bench -- server`: what the HTTP API adds to the SDK. The first event of a run over HTTP against the same
// run in the process, the memory of idle sessions, and many readers of which some read nothing. About a minute; with
// `--quick` a rough result. Exits with 1 when a budget is missed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { createClient } from 'capstan/client'
import { createServer, listen } from 'capstan/server'
import { scriptedModel } from 'capstan/testing'
import { calibrate, spread } from './measure.mjs'
import { calibrationArea, figure, printTable, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const token = 'a-token-for-the-benchmark'
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

const calibrations = [calibrate()]
const first = await measureFirstEvent(quick ? 20 : 100)
calibrations.push(calibrate())
const idle = await measureIdle(quick ? 200 : 1_000)
const streams = await measureStreams(quick ? 50 : 200, quick ? 200 : 1_000)
calibrations.push(calibrate())

const tables = [
  {
    title: 'First event of a run',
    explanation:
      'Milliseconds from the request to the first event, the median and the 90th percentile. The request itself is counted, so the server adds less.',
    rows: first.map(({ name, ms }) => ({ name, median: ms.median, p90: ms.p90 })),
  },
  {
    title: 'Idle sessions',
    explanation: 'Memory of the server process, in MB over the same process without them.',
    rows: idle,
  },
  {
    title: 'Many readers',
    explanation:
      'Readers of live runs, one in a hundred reads nothing. Memory in MB over the process before.',
    rows: [streams],
  },
]
for (const { title, explanation, rows } of tables) {
  const columns = Object.keys(rows[0] ?? {})
  const cells = rows.map((row) =>
    Object.values(row).map((cell) => (typeof cell === 'number' ? figure(cell) : cell)),
  )
  printTable(title, explanation, ['', ...columns.slice(1)], cells)
}
const [sdk, chat, native] = first.map(({ ms }) => ms.median)
const targets = [
  { name: 'first event over HTTP', unit: 'ms after the SDK', most: 5, found: (native ?? NaN) - (sdk ?? NaN) },
  { name: 'first event of a chat', unit: 'ms after the SDK', most: 5, found: (chat ?? NaN) - (sdk ?? NaN) },
  {
    name: '1,000 idle sessions',
    unit: 'MB',
    most: 40,
    found: (Number(idle[0]?.rss) * 1_000) / Number(idle[0]?.sessions),
  },
  { name: 'events lost by readers', unit: 'events', most: 0, found: streams.lost },
  { name: '200 readers, 1 % of them stalled', unit: 'MB', most: 100, found: streams.rss },
].map((target) => ({ ...target, met: target.found <= target.most }))
for (const { name, unit, most, found, met } of targets)
  console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${figure(found)} ${unit}, target at most ${most}`)
console.log(
  `written to ${writeResults('server', { quick, targets, areas: [...tables, calibrationArea(calibrations)] })}`,
)
if (targets.some(({ met }) => !met)) process.exitCode = 1

/** The same run in the process, as a chat, and started and then read by the native API. @param {number} rounds */
async function measureFirstEvent(rounds) {
  const root = mkdtempSync(join(tmpdir(), 'capstan-bench-server-'))
  const agent = await Agent.create()
  const model = scriptedModel(() => 'Land in sight!')
  const server = createServer(agent, { token, workspaces: [root], session: { model } })
  const { url, close } = await listen(server, { port: 0 })
  const direct = agent.session(root, { model })
  const post = (/** @type {string} */ path, /** @type {unknown} */ body) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const { sessionId } = await (await post('/v1/sessions', {})).json()
  await (await post('/v1/chat', chatOf(0))).text()
  const cases = [
    {
      name: 'in the process',
      run: async () => {
        const events = await direct.stream('What do you see?')
        return { events: events[Symbol.asyncIterator](), startedAt: undefined }
      },
    },
    {
      name: '`POST /v1/chat`',
      run: async (/** @type {number} */ at) => bodyOf(await post('/v1/chat', chatOf(at))),
    },
    {
      name: '`GET …/runs/{runId}/events`, once it has started',
      run: async () => {
        const started = await post(`/v1/sessions/${sessionId}/runs`, { prompt: 'What do you see?' })
        const { runId } = await started.json()
        const startedAt = performance.now()
        const stream = await fetch(`${url}/v1/sessions/${sessionId}/runs/${runId}/events`, { headers })
        return { ...bodyOf(stream), startedAt }
      },
    },
  ]
  /** @type {number[][]} */
  const samples = cases.map(() => [])
  for (let round = -10; round < rounds; round++)
    for (const [at, one] of cases.entries()) {
      const calledAt = performance.now()
      const { events, startedAt } = await one.run(round + 100)
      await events.next()
      const took = performance.now() - (startedAt ?? calledAt)
      while ((await events.next()).done !== true);
      if (round >= 0) samples[at]?.push(took)
    }
  await server.close()
  await close()
  await agent.close()
  rmSync(root, { recursive: true, force: true })
  return cases.map(({ name }, at) => ({ name, ms: spread(samples[at] ?? []) }))
}

/** @param {number} at */
function chatOf(at) {
  return {
    id: 'chat',
    messages: [{ id: `message-${at}`, role: 'user', parts: [{ type: 'text', text: 'What do you see?' }] }],
  }
}

/** The chunks of a response that have an event. @param {Response} response */
function bodyOf(response) {
  async function* events() {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) if (decoder.decode(chunk).includes('data:')) yield chunk
  }
  return { events: events(), startedAt: undefined }
}

/** @param {Record<string, string>} env */
async function startHost(env = {}) {
  const child = fork(new URL('./server/host.mjs', import.meta.url), {
    execArgv: ['--expose-gc'],
    env: { ...process.env, ...env },
  })
  const [{ url }] = await once(child, 'message')
  return {
    url,
    go: () => child.send('go'),
    memory: async () => {
      child.send('memory')
      const [{ rss, heap }] = await once(child, 'message')
      return { rss: rss / 2 ** 20, heap: heap / 2 ** 20 }
    },
    stop: async () => {
      child.send('stop')
      await once(child, 'exit')
    },
  }
}

/** @param {number} count */
async function measureIdle(count) {
  const host = await startHost()
  host.go()
  const client = createClient({ url: host.url, token })
  // The first sessions load what all of them use, and grow the heap as far as requests need it.
  for (let done = 0; done < count / 4; done++) {
    const session = await client.createSession()
    for await (const _ of await session.run('Hi.'));
    await client.call('deleteSession', { params: { sessionId: session.sessionId } })
  }
  const before = await host.memory()
  const sessions = []
  for (let done = 0; done < count; done++) sessions.push(await client.createSession())
  const opened = await host.memory()
  for (const session of sessions) for await (const _ of await session.run('Hi.'));
  const used = await host.memory()
  await host.stop()
  const row = (/** @type {string} */ name, /** @type {{ rss: number, heap: number }} */ now) => ({
    name,
    sessions: count,
    'heap, MB': now.heap - before.heap,
    rss: now.rss - before.rss,
  })
  return [row('opened', opened), row('with one run', used)]
}

/** @param {number} readers @param {number} words */
async function measureStreams(readers, words) {
  const host = await startHost({ WORDS: String(words) })
  const client = createClient({ url: host.url, token })
  /** @type {import('capstan/client').RemoteRun[]} */
  const runs = []
  for (let at = 0; at < 20; at++) runs.push(await (await client.createSession()).run(`Count ${at}.`))
  const before = await host.memory()
  const { port } = new URL(host.url)
  const stalled = Array.from({ length: Math.max(1, readers / 100) }, (_, at) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.pause()
    const path = `/v1/sessions/${runs[at]?.session.sessionId}/runs/${runs[at]?.runId}/events`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    return socket
  })
  const startedAt = performance.now()
  const reading = Array.from({ length: readers - stalled.length }, async (_, at) => {
    let [events, pieces] = [0, 0]
    for await (const { type } of runs[at % runs.length] ?? []) {
      events += 1
      if (type === 'text_delta') pieces += 1
    }
    return { events, pieces }
  })
  host.go()
  let peak = before.rss
  const all = Promise.all(reading)
  let isOver = false
  void all.then(() => {
    isOver = true
  })
  while (!isOver) {
    peak = Math.max(peak, (await host.memory()).rss)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const found = await all
  const seconds = (performance.now() - startedAt) / 1_000
  for (const socket of stalled) socket.destroy()
  await host.stop()
  const events = found.reduce((sum, one) => sum + one.events, 0)
  const most = Math.max(...found.map((one) => one.events))
  return {
    name: `${readers} readers`,
    events,
    lost: most * found.length - events,
    seconds,
    'events/s': events / seconds,
    rss: peak - before.rss,
  }
}
