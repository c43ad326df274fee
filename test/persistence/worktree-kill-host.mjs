// @ts-nocheck: plain JavaScript, run as it is.
// A process whose session has a task in a worktree. Started by worktree-kill.test.ts, which kills it while the task works,
// and starts a second one.
import { Agent } from 'capstan'
import { scriptedModel } from 'capstan/testing'
import { order, say } from '../support/host-parts.mjs'

const call = (name, args) => ({ toolCalls: [{ name, args }] })
const model = scriptedModel(({ chatHistory }) => {
  if (order.isNext) return 'Nothing is left to do.'
  const text = JSON.stringify(chatHistory)
  if (text.includes('Hand it on.')) return call('task', { prompt: 'Change it.', isolation: 'worktree' })
  if (!text.includes('tool_result')) return call('write', { file_path: 'a.txt', content: 'changed\n' })
  say({ isChanged: text.includes('a.txt') })
  return { hang: true }
})
const agent = await Agent.create({}, { userDir: order.userDir, env: {} })
const session = agent.session(order.workspace, {
  model,
  sandbox: 'off',
  permissionPolicy: { allow: ['write(*)', 'task'] },
})
const { text } = await session.send('Hand it on.')
say({ text })
await agent.close()
