// @ts-nocheck: plain JavaScript, run as it is.
// A process that works through a plan in a stored session, and resumes what an earlier process left behind. It may be
// killed at any moment. Started by kill.test.ts with an order.
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, createJsonTool } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const note = (line) => appendFileSync(order.ledger, `${line}\n`)

const tool = (name, idempotent) =>
  createJsonTool({
    name,
    description: 'Notes a word.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    idempotent,
    async execute({ word }, { toolCallId }) {
      note(`begun ${name} ${toolCallId} ${word}`)
      await wait(order.toolMs)
      note(`done ${name} ${toolCallId} ${word}`)
      return `noted ${word}`
    },
  })

/** What the results say of each word: noted, or interrupted in a tool that must not be repeated. */
function settled(history) {
  const calls = new Map()
  const words = new Map()
  for (const message of history) {
    if (message.role === 'assistant')
      for (const part of message.content) if (part.type === 'tool_call') calls.set(part.id, part.function)
    if (message.role !== 'tool') continue
    for (const { id, content } of message.content) {
      const call = calls.get(id)
      const said = JSON.stringify(content)
      const { word } = call.arguments
      if (said.includes(`noted ${word}`)) words.set(word, 'noted')
      else if (call.name === 'note' && said.includes('outcome unknown')) words.set(word, 'unknown')
    }
  }
  return words
}

let askedAt
const model = scriptedModel(({ chatHistory }) => {
  askedAt ??= performance.now()
  const words = settled(chatHistory)
  say({ acknowledged: [...words].filter(([, how]) => how === 'noted').map(([word]) => word) })
  const answers = chatHistory.filter(({ role }) => role === 'assistant').length
  const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11 }
  const round = order.rounds.find((calls) => calls.some(({ word }) => !words.has(word)))
  if (round === undefined) return { text: 'All is noted.', usage }
  return {
    text: 'Next.',
    usage,
    toolCalls: round
      .filter(({ word }) => !words.has(word))
      .map(({ name, word }, at) => ({ id: `${answers}-${at}`, name, args: { word } })),
  }
})

const store = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
say({ ready: true })
const startedAt = performance.now()
const options = {
  sessionStore: store,
  sessionId: order.sessionId,
  sandbox: 'off',
  tools: [tool('note', false), tool('again', true)],
  permissionPolicy: { allow: ['note', 'again'] },
  model,
}
// Some stores can only be read asynchronously.
const isResumed = store.readSync === undefined && (await store.read(order.sessionId)) !== undefined
const session = isResumed
  ? await agent.openSession(order.sessionId, { ...options, workspace: order.workspace })
  : agent.session(order.workspace, options)
const last = (await session.runs()).at(-1)
if (last?.status === 'completed') say({ result: 'known' })
else {
  const { text, rounds, totalTokens } = await continueRun()
  say({
    result: { text, rounds, totalTokens },
    resumed: last !== undefined,
    resumeMs: Math.round((askedAt ?? performance.now()) - startedAt),
  })
}
await agent.close()
say({ closed: true })

async function continueRun() {
  if (last === undefined) return session.send('Note them.')
  try {
    return await session.resumeRun(last.id)
  } catch (error) {
    if (error.code !== 'no_checkpoint') throw error
    say({ lost: last.status })
    return session.send('Continue.')
  }
}
