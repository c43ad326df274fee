// @ts-nocheck: plain JavaScript, run as it is.
// Sessions whose calls go to workers over HTTP, until the process is killed. Started by restart.test.ts with an order.
import { Agent, createJsonTool } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const { userDir, workspace, token } = order
const tool = (name, idempotent) =>
  createJsonTool({
    name,
    description: 'Moves a crate.',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    idempotent,
    execute: () => 'it ran in the process of the session',
  })
const agent = await Agent.create({}, { userDir, env: {} })
const sessionStore = openStore()
const opened = []
for (const plan of order.sessions) {
  const session = await open(plan)
  if (plan.external) await session.setLaneHandler('execute', { mode: 'external', timeoutMs: 60_000 })
  const { url } = await session.serveQueue({ token })
  say({ url })
  opened.push([session, plan])
}
await Promise.all(opened.map(([session, plan]) => work(session, plan)))
await agent.close()

async function open({ sessionId, config, rounds = [] }) {
  const options = {
    sessionStore,
    sandbox: 'off',
    permissionPolicy: { allow: ['move', 'look'] },
    tools: [tool('move', false), tool('look', true)],
    queueConfig: config,
    // The answers are those of the round, whichever process asks.
    model: scriptedModel(({ chatHistory }) => {
      const done = chatHistory.filter(({ role }) => role === 'tool').length
      const calls = rounds[done]
      return calls === undefined
        ? 'All crates were moved.'
        : { toolCalls: calls.map(([name, n]) => ({ id: `call_${n}`, name, args: { n } })) }
    }),
  }
  try {
    if (order.resumes) return await agent.openSession(sessionId, options)
  } catch (error) {
    // An earlier process may have been killed before it had written anything.
    if (error.code !== 'session_not_found') throw error
  }
  return agent.session(workspace, { sessionId, ...options })
}

async function work(session, { direct }) {
  if (direct !== undefined) {
    const result = await session.tool(direct[0], { n: direct[1] })
    say({ result: result.output, letters: (await session.deadLetters()).length })
    setInterval(() => undefined, 1_000)
    await new Promise(() => undefined)
  }
  const last = (await session.runs()).at(-1)
  const { text } =
    last === undefined ? await session.send('Move the crates.') : await session.resumeRun(last.id)
  say({ text })
}
