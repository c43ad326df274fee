/**
 * Memories and processes that are killed: what was acknowledged is there, and nothing is half there. Short form: 3
 * kills of pairs of processes on one directory; `FAULT_FACTOR=10` makes it 30. The figures of ten thousand items are
 * printed.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { itemText } from '../../src/memory/file/item-text.js'
import { FileMemoryStore } from '../../src/memory/index.js'
import { searchOf } from '../../src/memory/search/memory-search.js'
import { makeWorkspace } from '../contract/open-session.js'
import { factor } from '../support/fault-factor.js'
import { type Host, startHost } from '../support/host-process.js'
import { percentile } from './support.js'

const kills = 3 * factor

describe('memories in one directory', () => {
  it('lose nothing between two processes that write at once', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const directory = join(base, 'memory')
    const order = { directory, workspace: root, userDir, count: 40 }
    const hosts = [1, 2].map((host) => startHost('faults/memory-host.mjs', { ...order, host }))
    const reported = await Promise.all(hosts.map((host) => allOf(host)))
    const items = await new FileMemoryStore(directory).list()
    expect(items.size).toBe(80)
    for (const { id, mark } of reported.flat()) expect(items.get(id)?.content).toMatch(whole(mark))
    // Both counted their ids alike.
    expect([...items.keys()].filter((id) => /-m1(-\d+)?$/.test(id))).toHaveLength(2)
  })

  it('survive a process that is killed at any moment: all that it acknowledged, and nothing incomplete', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const directory = join(base, 'memory')
    const reader = new FileMemoryStore(directory)
    const acknowledged = new Map<string, string>()
    for (let kill = 0; kill < kills; kill++) {
      const order = { directory, workspace: root, userDir, count: 100_000 }
      const hosts = [1, 2].map((host) =>
        startHost('faults/memory-host.mjs', { ...order, host: `${kill}-${host}` }),
      )
      for (const host of hosts) await host.next()
      // Some after so many, some anywhere between two.
      const many = 5 + ((kill * 7) % 20)
      for (const host of hosts) for (let at = 0; at < many; at++) note(acknowledged, await host.next())
      for (const host of hosts) host.child.kill('SIGKILL')
      for (const host of hosts) for (const line of await allOf(host)) note(acknowledged, line)
      const items = await reader.list()
      for (const [id, mark] of acknowledged) expect(items.get(id)?.content, id).toMatch(whole(mark))
      for (const { content } of items.values()) expect(content).toMatch(/begin (\S+) x* end \1$/)
      expect(reader.problems()).toEqual([])
    }
    const left = readdirSync(directory).filter((name) => name.startsWith('.'))
    console.info(
      `memory: ${kills} kills of two processes, ${acknowledged.size} acknowledged, none lost; ${left.length} drafts left`,
    )
  }, 600_000)
})

describe('two thousand memories', () => {
  it('are read and recalled', async () => {
    const { base } = await makeWorkspace()
    const directory = join(base, 'memory')
    await mkdir(directory)
    for (let at = 0; at < 2_000; at++)
      writeFileSync(join(directory, `2026-11-16-task-${at}.md`), itemText(syntheticItem(at)))
    const store = new FileMemoryStore(directory)
    const search = searchOf(store)
    const ask = async (text: string): Promise<number> => {
      const startedAt = performance.now()
      const found = await search.similar({ text, limit: 5, now: Date.UTC(2026, 10, 17) })
      const ms = performance.now() - startedAt
      expect(found.length).toBeGreaterThan(0)
      return ms
    }
    const readMs = await timed(() => store.list())
    const firstMs = await ask('login test')
    for (let at = 0; at < 10; at++) await ask(`login test ${at}`)
    // Words that all have, words that few have, and a long prompt.
    const queries = [
      'login test',
      'number 4711',
      'w7 w77 w777',
      Array.from({ length: 60 }, (_, at) => `w${at}`).join(' '),
    ]
    const times: number[] = []
    for (let round = 0; round < 15; round++) for (const query of queries) times.push(await ask(query))
    console.info(
      `memory: 2,000 items: read in ${readMs.toFixed(0)} ms, first recall ${firstMs.toFixed(0)} ms more, then p50 ${percentile(times, 0.5).toFixed(1)} ms, p90 ${percentile(times, 0.9).toFixed(1)} ms`,
    )
  })
})

async function allOf(host: Host): Promise<Acknowledged[]> {
  const lines: Acknowledged[] = []
  for (;;) {
    const line = await host.next().catch(() => undefined)
    if (line === undefined) break
    if (typeof line['id'] === 'string') lines.push(line as Acknowledged)
  }
  await host.exited
  return lines
}

type Acknowledged = { readonly id: string; readonly mark: string }

function note(acknowledged: Map<string, string>, line: Record<string, unknown>): void {
  acknowledged.set(String(line['id']), String(line['mark']))
}

function whole(mark: string): RegExp {
  return new RegExp(`begin ${mark} x* end ${mark}$`)
}

function syntheticItem(at: number) {
  const words = Array.from({ length: 30 }, (_, n) => `w${(at * (n + 7) * 31) % 3000}`)
  return {
    id: '',
    content: `Success: fix the login test number ${at}\nTools: grep, bash\nResult: ${words.join(' ')}`,
    createdAtMs: Date.UTC(2026, 10, 16) - at * 60_000,
    importance: (at % 10) / 10,
    tags: ['success', 'pattern', 'grep', 'bash'],
    memoryType: 'procedural' as const,
    metadata: {},
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
