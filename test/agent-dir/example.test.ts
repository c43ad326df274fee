import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { loadAgentDir } from '../../src/agent/dir/load-agent-dir.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { newAgent } from './support.js'

const example = resolve(import.meta.dirname, '../../examples/agent-dir')

it('the example is valid, and its tool works', async () => {
  const [dir, workspace] = [join(example, 'todo-agent'), join(example, 'workspace')]
  const { schedules, tools, skills } = await loadAgentDir(dir, { workspace })
  expect(schedules.map(({ name }) => name)).toEqual(['weekdays'])
  expect(tools.map(({ name }) => name)).toEqual(['count-todos'])
  expect(skills).toEqual(['report'])
  const agent = await newAgent()
  const model = scriptedModel([{ toolCalls: [{ name: 'count-todos', args: { inputs: {} } }] }, 'Two.'])
  const served = await agent.serveAgentDir(dir, workspace, { model })
  expect(await served.runNow('weekdays')).toMatchObject({ status: 'completed', result: { text: 'Two.' } })
  expect(JSON.stringify(model.requests.at(-1)?.chatHistory)).toContain('\\"notes.md\\": 2')
  await served.stop()
})
