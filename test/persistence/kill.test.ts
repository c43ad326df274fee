/**
 * FT-01: a process works through 20 rounds in a kept session, some with calls side by side, and is killed with SIGKILL
 * at a random moment; another resumes, and is killed too, until the work is done; then the next session begins. Short
 * form: 4 kills with each store, all after the first request; `FAULT_FACTOR=125` makes it 1,000 or more at any moment,
 * with several sessions at a time. `FAULT_SEED` repeats a sequence of moments, as far as the machine repeats itself.
 *
 * FT-02: the same, killed exactly where it enters the k-th write to its store, sync, rename or link, where `strace` can
 * do that. Short form: some of them, one after the other in a session; `FAULT_FACTOR=10` or more: every one, in a
 * session of its own.
 */
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { PostgresSessionStore } from '../../src/store/postgres/postgres-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import type { Message, ToolCallContent } from '../../src/tool/completion.js'
import { makeWorkspace } from '../contract/open-session.js'
import { percentile } from '../faults/support.js'
import { factor, reportFaults } from '../support/fault-factor.js'
import { startHost } from '../support/host-process.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'
import { flawOf, resultsIn, stateOf } from './kept.js'
import { numbersFrom } from './numbers-from.js'

const killsOf = (backend: string): number => (factor === 1 ? 4 : (backend === 'postgres' ? 15 : 8) * factor)
/** A long form has several, because a process that starts mostly waits. */
const sessionsAtOnce = factor > 1 ? 3 : 1
const seed = Number(process.env['FAULT_SEED'] ?? randomInt(2 ** 31))

/** Rounds of one, two and three calls; every third call may be repeated. */
const rounds = Array.from({ length: 20 }, (_, round) =>
  Array.from({ length: 1 + (round % 3) }, (_, at) => ({
    name: (round + at) % 3 === 0 ? 'again' : 'note',
    word: `r${round}c${at}`,
  })),
)

type Life = {
  readonly acknowledged: readonly string[]
  readonly end?: Record<string, unknown>
  readonly killed: boolean
  /** Whether it had asked its model: it was at work. */
  readonly hasBegun: boolean
}

/** One process, killed so long after it was ready, or after its first request, unless it is done before. */
async function live(
  order: object,
  killAfterMs: number,
  under: readonly string[] = [],
  from: 'ready' | 'first request' = 'ready',
): Promise<Life> {
  const host = startHost('persistence/kill-host.mjs', order, [], under)
  await host.next().catch(() => undefined)
  let timer: NodeJS.Timeout | undefined
  const setTimer = (): void => {
    timer ??= setTimeout(() => host.child.kill('SIGKILL'), killAfterMs)
  }
  if (from === 'ready') setTimer()
  let hasBegun = false
  let acknowledged: readonly string[] = []
  let end: Record<string, unknown> | undefined
  for (;;) {
    const line = await host.next().catch(() => undefined)
    if (line === undefined) break
    if (Array.isArray(line['acknowledged'])) {
      acknowledged = line['acknowledged']
      hasBegun = true
      setTimer()
    }
    if (line['result'] !== undefined) end = line
  }
  const { signal, code } = await host.exited
  clearTimeout(timer)
  if (signal === null) expect(code).toBe(0)
  return { acknowledged, killed: signal === 'SIGKILL', hasBegun, ...(end !== undefined && { end }) }
}

describe.each<[string, (place: string) => SessionStore, (directory: string) => Promise<string>]>([
  ['file', (place) => new FileSessionStore(place), async (directory) => directory],
  ['sqlite', (place) => new SqliteSessionStore(place), async (directory) => join(directory, 'all.db')],
  [
    'postgres',
    (place) => new PostgresSessionStore(JSON.parse(place)),
    async () => JSON.stringify(await postgresSchema()),
  ],
])('FT-01: a process that is killed at any moment, with the store "%s"', (backend, openStore, makePlace) => {
  it.skipIf(backend === 'postgres' && !hasPostgres())(
    'loses no finished round, and repeats none',
    async () => {
      const random = numbersFrom(seed)
      const kills = killsOf(backend)
      const { base, root, userDir } = await makeWorkspace()
      await mkdir(join(base, 'sessions'))
      const order = {
        backend,
        place: await makePlace(join(base, 'sessions')),
        workspace: root,
        userDir,
      }
      const figures = { kills: 0, atWork: 0, sessions: 0, interrupted: 0, resumeMs: [] as number[] }
      const workOn = async (): Promise<void> => {
        const sessionId = `s${figures.sessions++}`
        const ledger = join(base, `${sessionId}.txt`)
        await writeFile(ledger, '')
        const mine = { ...order, sessionId, ledger, rounds, toolMs: factor === 1 ? 6 : 2 }
        const acknowledged = new Set<string>()
        let end: Life['end']
        for (let lives = 0; end === undefined; lives++) {
          expect(lives, 'it never came to its end').toBeLessThan(100)
          // A machine that is too busy for a round in that time gets more of it, or no process would ever finish.
          const longest = (factor === 1 ? 150 : 250) * 1.05 ** lives
          // A store in a database has to connect first, and most moments would be before the work: every second one is
          // counted from the first request. The short form has no kill to spare for a process that does not work yet.
          const isAtWork = factor === 1 || (backend === 'postgres' && random() < 0.5)
          const from = isAtWork ? 'first request' : 'ready'
          const life = await live(mine, figures.kills < kills ? random() * longest : 600_000, [], from)
          for (const word of life.acknowledged) acknowledged.add(word)
          if (life.killed) reportFaults(`FT-01: ${backend}`, ++figures.kills, kills)
          if (life.killed && life.hasBegun) figures.atWork++
          end = life.end
          if (life.killed && end === undefined)
            await expectKept(openStore(mine.place), sessionId, acknowledged)
        }
        await expectDone(openStore(mine.place), sessionId, ledger, end, figures)
      }
      const sideBySide = Array.from({ length: sessionsAtOnce }, async () => {
        while (figures.kills < kills) await workOn()
      })
      await Promise.all(sideBySide)
      console.info(
        `FT-01: ${backend}: seed ${seed}, ${figures.kills} kills (${figures.atWork} at work), ${figures.sessions} sessions, ${figures.interrupted} calls cut off, last resume to first request p50 ${percentile(figures.resumeMs, 0.5)} ms, p99 ${percentile(figures.resumeMs, 0.99)} ms`,
      )
    },
    600_000 * factor,
  )
})

const isShort = factor < 10
/** What a store does to its files, and what nothing else in that process does. */
const calls = ['pwrite64', 'fdatasync', 'fsync', 'rename', 'link', 'unlink', 'ftruncate']

describe.skipIf(!canInject()).each<[string, (place: string) => SessionStore]>([
  ['file', (place) => new FileSessionStore(place)],
  ['sqlite', (place) => new SqliteSessionStore(place)],
])(
  'FT-02: a process that is killed as it enters a system call, with the store "%s"',
  (backend, openStore) => {
    it(
      'leaves a session that can be resumed',
      async () => {
        const { base, root, userDir } = await makeWorkspace()
        const few = rounds.slice(0, isShort ? 8 : 4)
        const points: Record<string, number> = {}
        const figures = { interrupted: 0, resumeMs: [] as number[] }
        const start = async (sessionId: string) => {
          const place = join(base, backend === 'file' ? sessionId : `${sessionId}.db`)
          const ledger = join(base, `${sessionId}.txt`)
          await writeFile(ledger, '')
          return { backend, place, workspace: root, userDir, sessionId, ledger, rounds: few, toolMs: 1 }
        }
        const finish = async (order: Awaited<ReturnType<typeof start>>, end: Life['end']): Promise<void> => {
          if (end === undefined) throw new Error(`${order.sessionId} never came to its end`)
          await expectDone(openStore(order.place), order.sessionId, order.ledger, end, figures, few)
        }
        let order: Awaited<ReturnType<typeof start>> | undefined
        for (const call of isShort ? calls.slice(0, 3) : calls) {
          for (let k = isShort ? 2 : 1; !isShort || k < 12; k += isShort ? 5 : 1) {
            order ??= await start(`${call}-${k}`)
            const first = await live(order, 600_000, [
              ...['env', 'UV_THREADPOOL_SIZE=1', 'strace', '-f', '-qq', '-o', '/dev/null'],
              ...['-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${k}`],
            ])
            if (first.killed) {
              points[call] = (points[call] ?? 0) + 1
              await expectKept(openStore(order.place), order.sessionId, new Set(first.acknowledged))
              // In the short form the process that resumes is killed at the next of these calls.
              if (isShort && first.end === undefined) continue
            }
            await finish(order, first.end ?? (await live(order, 600_000)).end)
            order = undefined
            if (!first.killed) break
          }
        }
        if (order !== undefined) await finish(order, (await live(order, 600_000)).end)
        const total = Object.values(points).reduce((sum, count) => sum + count, 0)
        console.info(`FT-02: ${backend}: killed at ${total} system calls ${JSON.stringify(points)}`)
        expect(total).toBeGreaterThan(isShort ? 3 : 20)
      },
      120_000 * factor,
    )
  },
)

function canInject(): boolean {
  try {
    execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=rename', 'true'])
    return true
  } catch {
    return false
  }
}

/** What the model had been shown as done is there. */
async function expectKept(
  store: SessionStore,
  sessionId: string,
  acknowledged: ReadonlySet<string>,
): Promise<void> {
  const { messages } = await stateOf(store, sessionId)
  const results = [...resultsIn(messages.map(({ message }) => message)).values()].join('\n')
  for (const word of acknowledged) expect(results, `acknowledged: ${word}`).toContain(`noted ${word}"`)
  await store.close?.()
}

async function expectDone(
  store: SessionStore,
  sessionId: string,
  ledgerFile: string,
  end: Record<string, unknown>,
  figures: { interrupted: number; resumeMs: number[] },
  plan = rounds,
): Promise<void> {
  const state = await stateOf(store, sessionId)
  const messages = state.messages.map(({ message }) => message)
  expect(flawOf(messages)).toBeUndefined()
  expect(state.openIntents).toEqual([])
  const results = resultsIn(messages)
  const lines = (await readFile(ledgerFile, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
  const begun = lines.filter(([what]) => what === 'begun')
  const done = new Map(
    lines.filter(([what]) => what === 'done').map(([, , id = '', word = '']) => [id, word]),
  )
  // No call is begun twice, and what must not be repeated is not, under any id.
  expect(new Set(begun.map(([, , id]) => id)).size).toBe(begun.length)
  const once = begun.flatMap(([, tool, , word]) => (tool === 'note' ? [word] : []))
  expect(new Set(once).size).toBe(once.length)
  // Every result that says so was done, and every call that began has a result.
  for (const [id, result] of results)
    if (result.includes('noted')) expect(result).toContain(`noted ${done.get(id)}"`)
  for (const [, , id = ''] of begun) {
    expect(results.get(id), `${id} began`).toMatch(/noted|outcome unknown/)
    if (results.get(id)?.includes('outcome unknown')) figures.interrupted++
  }
  // What is not noted was cut off after its call had been written down, and more cannot be known.
  const said = new Map<string, string>()
  for (const { id, function: call } of messages.flatMap(callsOf)) {
    const { word } = call.arguments as { word: string }
    said.set(word, `${said.get(word) ?? ''}${results.get(id)}`)
  }
  for (const { word } of plan.flat()) expect(said.get(word), word).toMatch(/noted|outcome unknown/)
  const answers = messages.filter(({ role }) => role === 'assistant').length
  for (const { status } of [...state.runs.values()].slice(0, -1)) expect(status).toBe('interrupted')
  expect([...state.runs.values()].at(-1)).toMatchObject({ status: 'completed', resultText: 'All is noted.' })
  await store.close?.()
  // Killed between its end and the word of it.
  if (end['result'] === 'known') return
  const rounds = Number((end['result'] as Record<string, unknown>)['rounds'])
  expect(end['result']).toEqual({ text: 'All is noted.', rounds, totalTokens: 11 * rounds })
  // A run that had no finished round yet was started again; else one piece of work counts all its answers.
  const firsts = new Set([...state.runs.values()].flatMap(({ id, resumedFrom }) => (resumedFrom ? [] : [id])))
  if (firsts.size === 1) expect(rounds).toBe(answers)
  if (end['resumed'] === true) figures.resumeMs.push(Number(end['resumeMs']))
}

function callsOf(message: Message): ToolCallContent[] {
  if (message.role !== 'assistant') return []
  return message.content.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
}
