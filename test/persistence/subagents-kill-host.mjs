// @ts-nocheck: plain JavaScript, run as it is.
// A process whose session hands work to subagents on two levels, some of it in the background, and resumes what an
// earlier one of its kind left behind. It may be killed at any moment. Started by subagents-kill.test.ts with an order.
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { openStore, order, say } from '../support/host-parts.mjs'

const textOf = ({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))

/**
 * The first round that no call was made for; each hands on a piece to wait for, and one that runs in the background.
 */
function parentStep(history) {
  const made = new Set(
    history.flatMap(({ role, content }) =>
      role === 'assistant' ? content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])) : [],
    ),
  )
  const round = Array.from({ length: order.rounds }, (_, at) => at).find((at) => !made.has(`wait-${at}`))
  if (round === undefined) return 'All is handed on.'
  return {
    toolCalls: [
      { id: `later-${round}`, name: 'task', args: { agent: 'hands', prompt: 'sleep', background: true } },
      { id: `soon-${round}`, name: 'task', args: { agent: 'hands', prompt: 'quick', background: true } },
      {
        id: `wait-${round}`,
        name: 'parallel_task',
        args: {
          tasks: ['quick', 'hand on', 'ask'].map((prompt) => ({ agent: 'hands', prompt })),
        },
      },
    ],
  }
}

const model = scriptedModel(({ chatHistory }) => {
  const [first] = chatHistory.filter(({ role }) => role === 'user')
  const asked = textOf(first)
  if (asked.includes('Hand it on.')) return parentStep(chatHistory)
  if (chatHistory.some(({ role }) => role === 'tool')) return 'done'
  const call = (name, args) => ({ toolCalls: [{ name, args }] })
  if (asked.includes('sleep')) return call('bash', { command: `sleep ${order.seconds}` })
  if (asked.includes('hand on')) return call('task', { agent: 'hands', prompt: 'quick' })
  if (asked.includes('ask')) return call('write', { file_path: 'asked.txt', content: 'x' })
  return call('bash', { command: 'sleep 0.02' })
})

const store = openStore()
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
say({ ready: true })
const session = agent.session(order.workspace, {
  sessionStore: store,
  sessionId: order.sessionId,
  sandbox: 'off',
  permissionPolicy: { allow: ['bash(sleep *)', 'task', 'parallel_task'] },
  onAsk: () => new Promise((settle) => setTimeout(() => settle({ decision: 'once' }), 5)),
  delegation: { maxTasks: 500 },
  maxParallelTasks: 100,
  model,
})
session.registerWorkerAgent({
  name: 'hands',
  description: 'Does it.',
  confirmationInheritance: 'inherit_parent',
})
const before = await session.subagentTasks()
say({ before: before.map(({ taskId, status, background }) => ({ taskId, status, background })) })
const last = (await session.runs()).at(-1)
const { text } = last?.status === 'completed' ? { text: last.resultText } : await continueRun()
say({ text })
await agent.close()
say({ closed: true })

async function continueRun() {
  if (last === undefined) return session.send('Hand it on.')
  try {
    return await session.resumeRun(last.id)
  } catch (error) {
    if (error.code !== 'no_checkpoint') throw error
    return session.send('Hand it on. Once more.')
  }
}
