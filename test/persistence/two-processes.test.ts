/**
 * FT-18: several processes want to write one session at the same moment. Short form: 1 race of 4 processes with each
 * store; `FAULT_FACTOR=38` or more makes it 75 with 8.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { makeWorkspace } from '../contract/open-session.js'
import { percentile } from '../faults/support.js'
import { factor } from '../support/fault-factor.js'
import { type Host, startHost } from '../support/host-process.js'
import { expectWhole, stateOf } from './kept.js'

const races = Math.min(75, factor > 1 ? 2 * factor : 1)
const writers = factor >= 25 ? 8 : 4

describe.each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(place)],
])('FT-18: one session, several processes and the store "%s"', (backend, openStore) => {
  it('has one writer; the others get its name, and one takes over when it is dead', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const directory = join(base, 'sessions')
    await mkdir(directory)
    const place = backend === 'file' ? directory : join(directory, 'all.db')
    const takenOver: number[] = []
    for (let race = 0; race < races; race++) {
      const sessionId = `race-${race}`
      const order = { backend, place, workspace: root, userDir, sessionId }
      const start = (more: object): Host => startHost('persistence/writer-host.mjs', { ...order, ...more })
      const at = Date.now() + 700
      const hosts = Array.from({ length: writers }, () => start({ at }))
      await Promise.all(hosts.map((host) => host.next()))
      const lines = await Promise.all(hosts.map((host) => host.next()))
      const winner = hosts[lines.findIndex(({ held }) => held !== undefined)]
      expect(lines.filter(({ held }) => held !== undefined)).toHaveLength(1)
      for (const line of lines.filter(({ held }) => held === undefined)) {
        // A process that read before the winner wrote, and came after it, would overwrite its records.
        expect(['session_locked', 'store_stale']).toContain(line['refused'])
        if (line['refused'] === 'session_locked')
          expect(line['message']).toContain(`process ${winner?.child.pid}`)
      }
      const insisting = start({ at: 0, insist: true })
      await insisting.next()
      const next = insisting.next()
      const killedAt = Date.now()
      winner?.child.kill('SIGKILL')
      takenOver.push(Number((await next)['at']) - killedAt)
      insisting.child.kill('SIGKILL')
      await Promise.all([...hosts, insisting].map(({ exited }) => exited))
      const store = openStore(place)
      const { messages, runs } = await stateOf(store, sessionId)
      expectWhole(messages.map(({ message }) => message))
      // Two holders, each with its question and its answer, one after the other.
      const said = messages.map(({ message }) => /\d{2,}/.exec(JSON.stringify(message.content))?.[0])
      const [first, second] = [String(winner?.child.pid), String(insisting.child.pid)]
      expect(said).toEqual([first, first, second, second])
      expect([...runs.values()].map(({ status }) => status)).toEqual(['completed', 'completed'])
      await store.close?.()
    }
    console.info(
      `FT-18: ${backend}: ${races} races of ${writers}; taken over after p50 ${percentile(takenOver, 0.5)} ms, at most ${Math.max(...takenOver)} ms`,
    )
  }, 600_000)
})
