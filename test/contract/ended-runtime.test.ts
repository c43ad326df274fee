/** A tool can store its runtime. After its call has ended, nothing of it can be used any more. */
import { expect, it, vi } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { RuntimeShell } from '../../src/tool/runtime.js'
import type { RuntimeSession } from '../../src/tool/session-services.js'
import { makeWorkspace, whenDone } from './open-session.js'

it('is dead after the call has ended: jobs, todos, the mode, questions and other services', async () => {
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  let kept: { shell: RuntimeShell; session: RuntimeSession } | undefined
  const keeping = createJsonTool({
    name: 'keeping',
    description: 'Keeps its runtime.',
    parameters: { type: 'object', properties: {} },
    execute: async (_args, { runtime }) => {
      if (runtime?.shell === undefined || runtime.session === undefined) throw new Error('no runtime')
      kept = { shell: runtime.shell, session: runtime.session }
      await runtime.session.todos?.replace([{ content: 'one', status: 'pending' }])
      return `${runtime.shell.jobs().length} ${runtime.session.todos?.list().length}`
    },
  })
  const session = agent.session(root, {
    sandbox: 'off',
    tools: [keeping],
    permissionPolicy: { allow: ['keeping'] },
    model: scriptedModel([{ toolCalls: [{ name: 'keeping', args: {} }] }, 'Done.']),
  })
  await session.send('Keep it.')
  if (kept === undefined) throw new Error('the tool did not run')
  const { shell, session: services } = kept
  const uses: readonly [string, () => unknown][] = [
    ['jobs', () => shell.jobs()],
    ['readJob', () => shell.readJob('1')],
    ['killJob', () => shell.killJob('1')],
    ['todos.list', () => services.todos?.list()],
    ['todos.replace', () => services.todos?.replace([])],
    ['mode.enterPlan', () => services.mode?.enterPlan()],
    ['mode.leavePlan', () => services.mode?.leavePlan()],
    ['tools.offer', () => services.tools?.offer(['keeping'])],
    ['tools.hidden', () => services.tools?.hidden()],
    ['tools.searchable', () => services.tools?.searchable?.()],
    ['tools.callAll', () => services.tools?.callAll([{ tool: 'keeping', args: {} }])],
  ]
  for (const [name, use] of uses)
    await expect((async () => use())(), name).rejects.toMatchObject({ name: 'AbortError' })
  expect(session.todos()).toEqual([{ content: 'one', status: 'pending' }])
})

it('can end and read its jobs while it is being stopped', async () => {
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const stop = new AbortController()
  let seen: { readonly running: boolean; readonly text: string; readonly jobs: number } | undefined
  const serving = createJsonTool({
    name: 'serving',
    description: 'Starts a server and ends it again.',
    parameters: { type: 'object', properties: {} },
    requires: { shell: [{ cmd: '*' }] },
    execute: async (_args, { runtime, signal }) => {
      if (runtime?.shell === undefined || signal === undefined) throw new Error('no runtime')
      const { shell } = runtime
      const { id } = await shell.start('exec sleep 600')
      stop.abort()
      await expect(shell.start('exec sleep 600')).rejects.toMatchObject({ name: 'AbortError' })
      const { running } = await shell.killJob(id)
      const { text } = await shell.readJob(id)
      seen = { running, text, jobs: shell.jobs().length }
    },
  })
  const session = agent.session(root, { sandbox: 'off', tools: [serving] })
  // On a busy machine, ending a job can take longer than a call has to stop.
  const later = setTimeout
  const stopMs = 1_750
  const timers = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((run, ms) => later(run, ms === stopMs ? 200_000 : ms))
  whenDone(async () => timers.mockRestore())
  await session.tool('serving', {}, { signal: stop.signal })
  expect(timers).toHaveBeenCalledWith(expect.any(Function), stopMs)
  expect(seen).toEqual({ running: false, text: '', jobs: 1 })
})
