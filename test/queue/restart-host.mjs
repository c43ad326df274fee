// @ts-nocheck: plain JavaScript, run as it is.
// A session whose calls go to workers over HTTP, until it is killed. Started by restart.test.ts with an order.
import { Agent, createJsonTool } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const { userDir, workspace, rounds, token, config, direct } = order
const tool = (name, idempotent) =>
  createJsonTool({
    name,
    description: 'Moves a crate.',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    idempotent,
    execute: () => 'it ran in the process of the session',
  })
const agent = await Agent.create({}, { userDir, env: {} })
const options = {
  sessionStore: openStore(),
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
const session = order.resumes
  ? await resumed()
  : agent.session(workspace, { sessionId: 'killed', ...options })
if (order.external) await session.setLaneHandler('execute', { mode: 'external', timeoutMs: 60_000 })
const { url } = await session.serveQueue({ token })
say({ url })
if (direct !== undefined) {
  const result = await session.tool(direct[0], { n: direct[1] })
  say({ result: result.output, letters: (await session.deadLetters()).length })
  setInterval(() => undefined, 1_000)
} else {
  const last = (await session.runs()).at(-1)
  const { text } =
    last === undefined ? await session.send('Move the crates.') : await session.resumeRun(last.id)
  say({ text })
  await agent.close()
}

/** The session of an earlier process, which may have been killed before it had written anything. */
async function resumed() {
  try {
    return await agent.openSession('killed', options)
  } catch (error) {
    if (error.code !== 'session_not_found') throw error
    return agent.session(workspace, { sessionId: 'killed', ...options })
  }
}
