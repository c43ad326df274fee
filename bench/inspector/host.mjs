// A server with the inspector, in a separate process, so that the work of the server does not count as work of the
// page. `fill` as the first argument: runs two sessions into the directory of the second and ends. `serve`: serves them.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, createTool } from 'capstan'
import { createServer, listen } from 'capstan/server'
import { FileSessionStore } from 'capstan/store'
import { scriptedModel } from 'capstan/testing'
import { z } from 'zod'

const [work, root = '', calls = '3400'] = process.argv.slice(2)
const workspace = join(root, 'workspace')
mkdirSync(workspace, { recursive: true })
const headers = { authorization: 'Bearer a-token-for-the-benchmark', 'content-type': 'application/json' }
const callsPerRound = 40
const megabyte = 1_000_000

const probe = createTool({
  name: 'probe',
  description: 'Returns a text of some length.',
  input: z.object({ at: z.number().int(), length: z.number().int() }),
  kind: 'read',
  limits: { maxBytes: 20 * megabyte },
  execute: async ({ at, length }) => `${at} `.repeat(Math.ceil(length / `${at} `.length)).slice(0, length),
})

const agent = await Agent.create()
const store = new FileSessionStore(join(root, 'sessions'))
const server = createServer(agent, {
  token: 'a-token-for-the-benchmark',
  workspaces: [workspace],
  store,
  inspector: true,
  limits: { maxRequestsPerMinute: 1_000_000 },
  session: {
    tools: [probe],
    permissionPolicy: { allow: ['probe'] },
    maxToolRounds: 1_000,
    model: scriptedModel(answer, { facts: { contextTokens: 1_000_000_000 } }),
  },
})
if (work === 'fill') await fill()
else await serve()

async function fill() {
  const { url, close } = await listen(server, { port: 0 })
  /** @param {string} prompt */
  const run = async (prompt) => {
    const { sessionId } = await post(`${url}/v1/sessions`, { title: prompt })
    const { runId } = await post(`${url}/v1/sessions/${sessionId}/runs`, { prompt })
    const path = `${url}/v1/sessions/${sessionId}/runs/${runId}`
    const events = await fetch(`${path}/events`, { headers })
    await events.text()
    return sessionId
  }
  process.send?.({ long: await run('long'), short: await run('short') })
  await server.close()
  await close()
  await agent.close()
  process.disconnect()
}

async function serve() {
  const { url, close } = await listen(server, { port: 0 })
  process.once('disconnect', async () => {
    await server.close()
    await close()
    await agent.close()
    rmSync(root, { recursive: true, force: true })
  })
  process.send?.({ url })
}

/**
 * Rounds of calls, then a text. Every 200th call of a long session has an output of 1 MB, and one a line of 10 MB.
 * @param {import('capstan').CompletionRequest} request
 */
function answer({ chatHistory }) {
  const first = chatHistory.find(({ role }) => role === 'user')
  const isLong = JSON.stringify(first?.content).includes('long')
  const begin = chatHistory.filter(({ role }) => role === 'assistant').length * callsPerRound
  if (begin >= (isLong ? Number(calls) : callsPerRound)) return 'That was **all**.'
  const toolCalls = Array.from({ length: callsPerRound }, (_, index) => {
    const at = begin + index
    return { name: 'probe', args: { at, length: isLong ? lengthOf(at) : 200 } }
  })
  return { text: `Round ${begin / callsPerRound} of *many*: \`probe\` it.`, toolCalls }
}

/** @param {number} at */
function lengthOf(at) {
  if (at === 300) return 10 * megabyte
  return at % 200 === 50 ? megabyte : 200 + ((at * 37) % 2_000)
}

/** @param {string} url @param {unknown} body */
async function post(url, body) {
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return await response.json()
}
