// A worker of the benchmark. Its model makes as many calls as the prompt says (`NAME x10`), and takes no time unless
// the prompt says so (`NAME x10 200ms`). Reports each request to the model, and its CPU time when it is asked.
import { setTimeout as wait } from 'node:timers/promises'
import { Agent } from 'capstan'
import { Worker } from 'capstan/cluster'
import { PostgresRunQueue, PostgresSessionStore } from 'capstan/postgres'
import { scriptedModel } from 'capstan/testing'
import { createJsonTool } from 'capstan/tool'

const url = process.argv[2] ?? ''
const slots = Number(process.argv[3])
const base = process.argv[4] ?? ''
const tenantLimit = process.argv[5] === undefined ? undefined : Number(process.argv[5])
const report = (/** @type {object} */ message) => process.send?.(message)

const tool = createJsonTool({
  name: 'count',
  description: 'Gives the number back.',
  kind: 'read',
  idempotent: true,
  parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  execute: ({ n }) => ({ n }),
})
const model = scriptedModel(async ({ chatHistory }) => {
  const prompt = JSON.stringify(chatHistory.find(({ role }) => role === 'user') ?? '')
  const [, name = '', rounds = '0', , ms = '0'] = /([\w-]+) x(\d+)( (\d+)ms)?/.exec(prompt) ?? []
  report({ asked: name, atMs: Date.now() })
  if (ms !== '0') await wait(Number(ms))
  const made = chatHistory.filter(({ role }) => role === 'tool').length
  if (made >= Number(rounds)) return 'All is counted.'
  return { text: 'Next.', toolCalls: [{ id: `c${made}`, name: 'count', args: { n: made } }] }
})

const agent = await Agent.create({}, { userDir: base, env: {} })
const worker = new Worker({
  agent,
  store: new PostgresSessionStore({ url }),
  queue: new PostgresRunQueue({ url }),
  workspaces: { main: base },
  slots,
  tenantLimits: tenantLimit === undefined ? undefined : { default: tenantLimit },
  session: { model, tools: [tool], permissionPolicy: { allow: ['count'] } },
})
await worker.start()
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  report({ cpuMs: (user + system) / 1_000 })
})
report({ nodeId: worker.nodeId })
