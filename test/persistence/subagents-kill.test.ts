/**
 * A process whose session has subagents at work, on two levels and in the background, is killed with SIGKILL at a
 * random moment; another resumes, and is killed too, until the work is done. Short form: 4 kills with each store;
 * `FAULT_FACTOR=15` makes it 60. `FAULT_SEED` repeats a sequence of moments, as far as the machine repeats itself.
 */
import { randomInt } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { makeWorkspace } from '../contract/open-session.js'
import { textOf } from '../contract/subagents.js'
import { processesWith, waitForProcesses } from '../security/sandbox/support/processes.js'
import { factor } from '../support/fault-factor.js'
import { startHost } from '../support/host-process.js'
import { expectWhole, stateOf } from './kept.js'
import { numbersFrom } from './numbers-from.js'

const kills = 4 * factor
const seed = Number(process.env['FAULT_SEED'] ?? randomInt(2 ** 31))
const ended = ['completed', 'failed', 'cancelled', 'interrupted']

type Known = { readonly taskId: string; readonly status: string; readonly background: boolean }
type Life = { readonly killed: boolean; readonly before: readonly Known[]; readonly text?: string }

async function live(order: object, killAfterMs: number): Promise<Life> {
  const host = startHost('persistence/subagents-kill-host.mjs', order)
  await host.next().catch(() => undefined)
  const timer = setTimeout(() => host.child.kill('SIGKILL'), killAfterMs)
  let before: readonly Known[] = []
  let text: string | undefined
  for (;;) {
    const line = await host.next().catch(() => undefined)
    if (line === undefined) break
    if (line['before'] !== undefined) before = line['before'] as readonly Known[]
    if (line['text'] !== undefined) text = String(line['text'])
  }
  const { signal, code } = await host.exited
  clearTimeout(timer)
  if (signal === null) expect(code).toBe(0)
  return { killed: signal === 'SIGKILL', before, ...(text !== undefined && { text }) }
}

describe.skipIf(process.platform !== 'linux').each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(place)],
])('a process with subagents that is killed at any moment, with the store "%s"', (backend, openStore) => {
  it(
    'leaves no process, and a history that can be resumed: each task has an end, which the model receives once',
    async () => {
      const random = numbersFrom(seed)
      const { base, root, userDir } = await makeWorkspace()
      const directory = join(base, 'sessions')
      await mkdir(directory)
      const place = backend === 'file' ? directory : join(directory, 'all.db')
      const figures = { kills: 0, sessions: 0, cutOff: 0, withProcesses: 0 }
      // On a slow machine the first kills may all come before a task has begun: more follow until one was cut off.
      while (figures.kills < kills || figures.cutOff === 0) {
        expect(figures.sessions, 'no kill cut a task off').toBeLessThan(50)
        const sessionId = `s${figures.sessions++}`
        const seconds = `${86_000 + process.pid}.${figures.sessions}${backend === 'file' ? 1 : 2}`
        const order = { backend, place, workspace: root, userDir, sessionId, seconds, rounds: 4 }
        let text: string | undefined
        for (let lives = 0; text === undefined; lives++) {
          expect(lives, 'it never came to its end').toBeLessThan(100)
          const longest = 600 * (1 + lives / 10)
          const life = await live(
            order,
            figures.kills < kills || figures.cutOff === 0 ? random() * longest : 600_000,
          )
          expect(life.before.filter(({ status }) => !ended.includes(status))).toEqual([])
          figures.cutOff += life.before.filter(({ status }) => status === 'interrupted').length
          text = life.text
          if (!life.killed) continue
          figures.kills++
          if (processesWith(`sleep ${seconds}`).length > 0) figures.withProcesses++
          expect(await waitForProcesses(`sleep ${seconds}`, (count) => count === 0)).toEqual([])
        }
        expect(text).toBe('All is handed on.')
        expect(processesWith(`sleep ${seconds}`)).toEqual([])
        // One more that only looks: the last may have been killed after its word, before it put its tasks away.
        const { before } = await live(order, 600_000)
        expect(before.filter(({ status }) => !ended.includes(status))).toEqual([])
        await expectOneEndEach(openStore(place), sessionId, before)
      }
      console.info(
        `${backend}: seed ${seed}, ${figures.kills} kills, ${figures.sessions} sessions, ${figures.cutOff} tasks known as cut off; a command was still ending after ${figures.withProcesses} kills`,
      )
    },
    120_000 * factor,
  )
})

/** `before`: what a process that opens it afterwards knows. */
async function expectOneEndEach(
  store: SessionStore,
  sessionId: string,
  before: readonly Known[],
): Promise<void> {
  const { messages, tasks } = await stateOf(store, sessionId)
  expectWhole(messages.map(({ message }) => message))
  expect(tasks.size).toBeGreaterThan(4)
  const reported = messages.flatMap(({ message }) =>
    message.role === 'user' ? [...textOf(message).matchAll(/^<task-result task="([^"]+)"/g)] : [],
  )
  const counts = new Map<string, number>()
  for (const [, id = ''] of reported) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const [id, count] of counts) expect(count, `reports of ${id}`).toBe(1)
  for (const { taskId, status, background, childSessionId } of tasks.values()) {
    if (!ended.includes(status)) {
      // A reader sees the end, and has nothing to write.
      expect(before.find((known) => known.taskId === taskId)?.status).toBe('interrupted')
      continue
    }
    // One that ended with the last process has no process that reads of it.
    if (background && status === 'interrupted') expect(counts.get(taskId), taskId).toBe(1)
    const child = await stateOf(store, childSessionId)
    if (status === 'completed') expectWhole(child.messages.map(({ message }) => message))
  }
  await store.close?.()
}
