// Many runs at once against a provider that accepts so many requests in each second.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Agent } from 'capstan'
import { printTable } from '../report.mjs'

const runs = 50
const most = 20
const windowMs = 1_000

const answer = `data: ${JSON.stringify({
  id: 'c',
  choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }],
})}\n\ndata: [DONE]\n\n`

/** @returns {Promise<{ areas: object[], refused: number }>} */
export async function measurePacing() {
  const cold = await refusedOf({ warm: false, says: 'requests' })
  const warm = await refusedOf({ warm: true, says: 'requests' })
  const tokens = await refusedOf({ warm: true, says: 'tokens' })
  const silent = await refusedOf({ warm: true, says: 'nothing' })
  const silentCold = await refusedOf({ warm: false, says: 'nothing' })
  const rows = [
    { name: 'limits not known before the first response', ...cold },
    { name: 'limits known from a response', ...warm },
    { name: 'a limit of tokens, known from a response', ...tokens },
    { name: 'a provider that does not say them', ...silent },
    { name: 'the same, without an earlier response', ...silentCold },
  ]
  const title = 'Pacing'
  const explanation = `${runs} runs of one agent at once; the provider accepts ${most} requests, or the tokens of as many, in ${windowMs} ms, so ${runs} need at least ${Math.ceil(runs / most) - 1} windows of waiting.`
  printTable(
    title,
    explanation,
    ['', 'refused', 'seconds'],
    rows.map(({ name, refused, seconds }) => [name, String(refused), seconds.toFixed(2)]),
  )
  return {
    areas: [{ title, explanation, rows }, await measureStart()],
    refused: warm.refused + tokens.refused,
  }
}

const responseMs = 300
const answerMs = 700

/** How long the first requests of an agent wait when there is no limit. */
async function measureStart() {
  const unpaced = { requestsPerMinute: 1_000_000 }
  /** @type {{ name: string, seconds: number, ratio: number }[]} */
  const rows = []
  for (const [name, rounds] of /** @type {const} */ ([
    ['runs of 1 round', 1],
    ['runs of 5 rounds', 5],
  ])) {
    const { seconds } = await secondsOf(rounds, undefined)
    const free = await secondsOf(rounds, unpaced)
    rows.push({ name, seconds, ratio: seconds / free.seconds })
  }
  const title = 'Pacing of a provider without a limit'
  const explanation = `${runs} runs of a new agent at once; each response begins after ${responseMs} ms and takes ${answerMs} ms more. Ratio to the same without pacing.`
  printTable(
    title,
    explanation,
    ['', 'seconds', 'ratio'],
    rows.map(({ name, seconds, ratio }) => [name, seconds.toFixed(2), ratio.toFixed(2)]),
  )
  return { title, explanation, rows }
}

/** @param {number} rounds @param {import('capstan/model').RateLimit | undefined} rateLimit */
async function secondsOf(rounds, rateLimit) {
  const call = `data: ${JSON.stringify({
    id: 'c',
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'ls', arguments: '{}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
  })}\n\ndata: [DONE]\n\n`
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const isLast = body.split('"role":"tool"').length === rounds
    await setTimeout(responseMs)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    await setTimeout(answerMs)
    response.end(isLast ? answer : call)
  })
  return timedRuns(server, { warm: false, rateLimit })
}

/** @param {{ warm: boolean, says: 'requests' | 'tokens' | 'nothing' }} options what the responses say is left */
async function refusedOf({ warm, says }) {
  let [startedAt, used, refused] = [0, 0, 0]
  let maxUsed = most
  const server = createServer((request, response) => {
    let bytes = 0
    request.on('data', (part) => {
      bytes += part.length
    })
    request.on('end', () => {
      const now = performance.now()
      const size = says === 'tokens' ? Math.ceil(bytes / 4) : 1
      if (says === 'tokens' && maxUsed === most) maxUsed = size * most
      if (now - startedAt >= windowMs) [startedAt, used] = [now, 0]
      const resetMs = Math.ceil(windowMs - (now - startedAt))
      const isServed = used + size <= maxUsed
      if (isServed) used += size
      if (!isServed) refused += 1
      response.writeHead(isServed ? 200 : 429, {
        'content-type': isServed ? 'text/event-stream' : 'application/json',
        ...(says !== 'nothing' && {
          [`x-ratelimit-limit-${says}`]: String(maxUsed),
          [`x-ratelimit-remaining-${says}`]: String(maxUsed - used),
          [`x-ratelimit-reset-${says}`]: `${resetMs}ms`,
        }),
        ...(!isServed && { 'retry-after-ms': String(resetMs) }),
      })
      response.end(isServed ? answer : '{"error":{"message":"too many"}}')
    })
  })
  const { seconds } = await timedRuns(server, { warm })
  return { refused, seconds }
}

/**
 * How long the runs take against a server.
 * @param {import('node:http').Server} server
 * @param {{ warm: boolean, rateLimit?: import('capstan/model').RateLimit | undefined }} options
 */
async function timedRuns(server, { warm, rateLimit }) {
  await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const root = mkdtempSync(join(tmpdir(), 'capstan-bench-pacing-'))
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const agent = await Agent.create(
    { defaultModel: 'p/m', providers: { p: { baseUrl, models: ['m'], ...(rateLimit && { rateLimit }) } } },
    { userDir: join(root, 'user') },
  )
  try {
    if (warm) await agent.session(root).send('Go.')
    const start = performance.now()
    await Promise.all(Array.from({ length: runs }, () => agent.session(root).send('Go.')))
    return { seconds: (performance.now() - start) / 1000 }
  } finally {
    await agent.close()
    server.closeAllConnections()
    server.close()
    rmSync(root, { recursive: true, force: true })
  }
}
