import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { expectWhole, stateOf } from '../persistence/kept.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { Node } from './node.js'
import { putFiles } from './support.js'

// Most of the time passes until the next second of a schedule, so the tests run at the same time. A directory of one
// test would be removed after another one: vitest does not know which of them calls a hook.
const shared = sharedDirectory()

/** Creates a directory with these files. */
async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(shared, randomUUID())
  await mkdir(path)
  await putFiles(path, files)
  return path
}

describe.concurrent.each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(place)],
])('two nodes on one store "%s"', (backend, openStore) => {
  it('make each fire once, and one continues when the other is killed', async () => {
    const dir = await directoryWith({
      'instructions.md': 'You tick.',
      'schedules/tick.md': '---\ncron: "* * * * * *"\n---\nTick.\n',
    })
    const [workspace, userDir, base] = [
      await directoryWith({}),
      await directoryWith({}),
      await directoryWith({}),
    ]
    await mkdir(join(base, 'kept'))
    const place = backend === 'file' ? join(base, 'kept') : join(base, 'kept', 'all.db')
    const order = { backend, place, dir, workspace, userDir }
    const nodes = [new Node(order), new Node(order)]
    const all = (): number[] => nodes.flatMap(({ made }) => made)
    await Promise.race(nodes.map((node) => node.until(() => node.made.length >= 3)))
    const leader = nodes.toSorted((a, b) => b.made.length - a.made.length)[0]
    const other = nodes.find((node) => node !== leader)
    leader?.host.child.kill('SIGKILL')
    await leader?.ended
    const before = other?.made.length ?? 0
    await other?.until(() => other.made.length >= before + 2)
    other?.host.child.kill('SIGTERM')
    await other?.ended
    expect((await other?.host.exited)?.code).toBe(0)
    expect(nodes.flatMap(({ failed }) => failed)).toEqual([])
    expect(new Set(all()).size).toBe(all().length)
    const store = openStore(place)
    const { runs, messages } = await stateOf(store, 'schedule:tick')
    const fired = [...runs.values()].map(({ trigger }) => trigger?.fired_at ?? 0)
    expect(new Set(fired).size).toBe(fired.length)
    expect(fired).toEqual(fired.toSorted((a, b) => a - b))
    for (const time of all()) expect(fired).toContain(time)
    expectWhole(messages.map(({ message }) => message))
    await store.close?.()
  })

  it('do not repeat a fire whose node was killed in the middle of it, and continue with the next', async () => {
    const dir = await directoryWith({
      'instructions.md': 'You tick.',
      // Whatever was missed is made up for: only what is written down keeps it from being made again.
      'schedules/tick.md': '---\ncron: "* * * * * *"\ncatch_up: all\noverlap: queue\n---\nTick.\n',
    })
    const [workspace, userDir, base] = [
      await directoryWith({}),
      await directoryWith({}),
      await directoryWith({}),
    ]
    const place = backend === 'file' ? base : join(base, 'all.db')
    const order = { backend, place, dir, workspace, userDir }
    const first = new Node({ ...order, hang: true })
    await first.until(() => first.asked > 0)
    first.host.child.kill('SIGKILL')
    await first.ended
    const second = new Node(order)
    await second.until(() => second.made.length >= 2)
    second.host.child.kill('SIGTERM')
    await second.ended
    expect(second.failed).toEqual([])
    expect(second.made).not.toContain(first.begun[0])
    const store = openStore(place)
    const { runs, messages } = await stateOf(store, 'schedule:tick')
    const [cut, ...others] = [...runs.values()]
    expect(cut).toMatchObject({ trigger: { fired_at: first.begun[0] } })
    expect(cut?.status).not.toBe('completed')
    expect(others.map(({ trigger }) => trigger?.fired_at)).not.toContain(first.begun[0])
    expect(others.map(({ trigger }) => trigger?.fired_at)).toEqual(expect.arrayContaining(second.made))
    expectWhole(messages.map(({ message }) => message))
    await store.close?.()
  })
})
