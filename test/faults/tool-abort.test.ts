/**
 * FT-14: commands that do not want to end, aborted through a session: `send` rejects within two seconds and no process
 * is left, 20 times in all (`FAULT_FACTOR=10`: 200). Sandboxed where a sandbox works, and without.
 */
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { until } from '../contract/open-session.js'
import { processesWith, waitForProcesses } from '../security/sandbox/support/processes.js'
import { factor } from '../support/fault-factor.js'
import { overlappingTests } from '../support/overlapping-tests.js'
import { expectWellFormed, sessionWith } from './support.js'

const allowed = { permissionPolicy: { allow: ['bash'] }, onAsk: () => ({ decision: 'once' as const }) }

const stubborn: readonly [string, string][] = [
  ['sleeps', 'sleep 300'],
  ['ignores SIGTERM', `trap '' TERM INT HUP; while :; do sleep 300; done`],
  ['forks', 'sleep 300 & sleep 300 & wait'],
  ['leaves its session', `setsid sleep 300 & (setsid setsid sleep 300 &) ; sleep 300`],
  ['closes its output but lives', `exec >&- 2>&- <&-; sleep 300`],
  ['keeps forking', 'while :; do (sleep 0.05 &) ; sleep 0.01; done'],
  ['writes without end', 'yes'],
  ['keeps writing', `trap '' TERM; while :; do echo late >> late.txt; sleep 0.02; done`],
]

describe('FT-14: a command that is aborted', () => {
  const it = overlappingTests()

  for (const [does, command] of stubborn)
    it(`and ${does}: ends, with no process left`, async () => {
      const rounds = Math.ceil((10 * Math.min(factor, 20)) / stubborn.length)
      const word = randomUUID()
      const model = scriptedModel((_request, n) =>
        n % 2 === 0 ? { toolCalls: [{ name: 'bash', args: { command: `echo up; ${command}` } }] } : 'Fine.',
      )
      const { session, root } = await sessionWith(model, {
        ...allowed,
        env: { WORD: word },
      })
      for (let round = 0; round < rounds; round++) {
        const stream = await session.stream('Go.')
        await until(stream, 'tool_output_delta')
        // One that is just becoming another program shows nothing for a moment.
        await expect.poll(() => processesWith(word).length).toBeGreaterThan(0)
        expect(session.cancel()).toBe(true)
        const reason = await until(stream, 'agent_cancelled')
        expect(reason.reason).toContain('cancel')
        await expectNoProcess(word)
        expectWellFormed(session)
        const written = sizeOf(join(root, 'late.txt'))
        await wait(60)
        expect(sizeOf(join(root, 'late.txt'))).toBe(written)
        expect((await session.send('Still there?')).text).toBe('Fine.')
      }
      console.info(`FT-14: ${rounds} aborts of a command that ${does}`)
    })

  it('with others at the same time: all of them end together', async () => {
    const word = randomUUID()
    const ignoring = `trap '' TERM; echo up; while :; do sleep 300; done`
    const model = scriptedModel([
      { toolCalls: ['a', 'b', 'c'].map((id) => ({ name: 'bash', id, args: { command: ignoring } })) },
      'Fine.',
    ])
    const { session } = await sessionWith(model, { ...allowed, env: { WORD: word } })
    const stream = await session.stream('Go.')
    await until(stream, 'tool_output_delta')
    session.cancel()
    await until(stream, 'agent_cancelled')
    await expectNoProcess(word)
    expectWellFormed(session)
    expect((await session.send('Still there?')).text).toBe('Fine.')
  })

  it('by its own time-out: the model receives the error, and the run continues', async () => {
    const word = randomUUID()
    const model = scriptedModel([
      { toolCalls: [{ name: 'bash', args: { command: `trap '' TERM; sleep 300`, timeout: 200 } }] },
      'Fine.',
    ])
    const { session } = await sessionWith(model, { ...allowed, env: { WORD: word } })
    expect((await session.send('Go.')).text).toBe('Fine.')
    await expectNoProcess(word)
    expect(JSON.stringify(session.history())).toMatch(/200 ms|time/)
  })

  it('by closing the session: nothing is left, also of a background job', async () => {
    const word = randomUUID()
    const model = scriptedModel([
      { toolCalls: [{ name: 'bash', args: { command: 'setsid sleep 300 & echo up; exit 0' } }] },
      { toolCalls: [{ name: 'bash', args: { command: `trap '' TERM; echo up; sleep 300` } }] },
    ])
    const { session } = await sessionWith(model, { ...allowed, env: { WORD: word } })
    const stream = await session.stream('Go.')
    await until(stream, 'tool_end')
    await until(stream, 'tool_output_delta')
    await session.close()
    await expectNoProcess(word)
  })
})

/** The run ends at once. On a slow machine the processes end a moment after it. */
async function expectNoProcess(word: string): Promise<void> {
  expect(await waitForProcesses(word, (left) => left === 0)).toEqual([])
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
