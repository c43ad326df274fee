/** A run whose process is killed in its first round: its prompt is in the log, and another process resumes it. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { startHost } from '../support/host-process.js'

const prompt = 'Count the files of this project.'

describe.each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(place)],
])('a run that is killed in its first round, with the store "%s"', (backend, openStore) => {
  async function killed(where: 'model' | 'hook') {
    const { base, root, userDir } = await makeWorkspace()
    const place = join(base, 'user', 'sessions')
    const order = { backend, place, workspace: root, userDir, prompt, in: where }
    const host = startHost('persistence/first-round-host.mjs', order)
    while ((await host.next())['hanging'] !== true);
    host.child.kill('SIGKILL')
    await host.exited
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    const store = openStore(place)
    whenDone(async () => store.close?.())
    return { agent, store, userDir }
  }

  it.each(['model', 'hook'] as const)(
    'is resumed with its prompt when it hung in a %s',
    async (where) => {
      const { agent, store } = await killed(where)
      const model = scriptedModel(['There are three.'])
      const session = agent.resumeSession('killed', { sessionStore: store, model })
      const [run] = await session.runs()
      expect(run).toMatchObject({ prompt })
      const result = await session.resumeRun(run?.id ?? '')
      expect(result.text).toBe('There are three.')
      expect(result.runId).not.toBe(run?.id)
      const asked = model.requests[0]?.chatHistory.filter(({ role }) => role === 'user')
      expect(JSON.stringify(asked)).toContain(prompt)
      expect(asked).toHaveLength(1)
      expect(session.history().map(({ role }) => role)).toEqual(['user', 'assistant'])
      expect(await session.runSnapshot(run?.id ?? '')).toMatchObject({ status: 'interrupted' })
      // It has been resumed, and has its answer.
      const again = await session.resumeRun(run?.id ?? '')
      expect(again.text).toBe('There are three.')
      expect(model.requests).toHaveLength(1)
    },
    120_000,
  )

  it('is not resumed once its prompt was rewound', async () => {
    const { agent, store } = await killed('model')
    const session = agent.resumeSession('killed', { sessionStore: store, model: scriptedModel(['no']) })
    const [run] = await session.runs()
    await session.rewind(session.messages()[0]?.id ?? '')
    await expect(session.resumeRun(run?.id ?? '')).rejects.toMatchObject({ code: 'no_checkpoint' })
  })
})
