import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLocalShell } from '../../../src/workspace/shell/local-shell.js'
import { sweepLedgers } from '../../../src/workspace/shell/sweep.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { compileShell } from './support/compiled.js'
import { startHost } from './support/host.js'
import { processesWith, waitForProcesses } from './support/processes.js'
import { runAsModel } from './support/session.js'

let compiled: ReturnType<typeof compileShell>
let place: string
beforeAll(() => {
  compiled = compileShell()
})
afterAll(() => compiled.remove())
beforeEach(() => {
  place = temporaryDirectory()
  mkdirSync(join(place, 'work'))
})

/** Ways out of group, session, environment, output and parent at once. The word is in the arguments alone. */
const ways = (word: string): string[] => [
  `(setsid env -i bash -c 'sleep 300; : ${word}' >/dev/null 2>&1 &)`,
  `(env -i setsid bash -c 'sleep 300; : ${word}' </dev/null >/dev/null 2>&1 &)`,
  `(env -i setsid bash -c '(bash -c "sleep 300; : ${word}" &) &' </dev/null >/dev/null 2>&1 &)`,
  `(env -i setsid -f setsid -f bash -c 'exec 0<&- 1>&- 2>&-; sleep 300; : ${word}' >/dev/null 2>&1)`,
  `perl -e 'use POSIX; exit if fork; POSIX::setsid; exit if fork; %ENV = (); open STDOUT, ">/dev/null"; open STDERR, ">/dev/null"; exec "bash", "-c", "sleep 300; : ${word}"'`,
  `nohup env -i setsid nohup bash -c 'trap "" TERM HUP INT; sleep 300; sleep 300; : ${word}' >/dev/null 2>&1 & disown`,
]

/** Waits until every way has led out: a process of its own session, without the variable that every command has. */
async function escaped(word: string): Promise<void> {
  const out = (): string[] =>
    processesWith(word).filter((line) => {
      try {
        return !readFileSync(`/proc/${line.split(' ')[0]}/environ`, 'latin1').includes('CAPSTAN_RUN_ID')
      } catch {
        return false
      }
    })
  await expect.poll(() => out().length).toBeGreaterThanOrEqual(ways(word).length)
}

describe('a fully detached process, without a sandbox', () => {
  it('ends when its command is aborted', async () => {
    const word = randomUUID()
    const shell = createLocalShell({
      root: join(place, 'work'),
      ledgerDir: join(place, 'ledger'),
      sandbox: 'off',
    })
    try {
      const abort = new AbortController()
      const running = ways(word).map((way) => shell.run(`${way}; sleep 300`, { signal: abort.signal }))
      await escaped(word)
      abort.abort()
      for (const outcome of await Promise.all(running)) expect(outcome.aborted).toBe(true)
      expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
    } finally {
      await shell.close()
    }
  })

  it('is reported as a leftover of its command, and ends when the session closes', async () => {
    const word = randomUUID()
    const { session, outputs } = await runAsModel(
      ways(word).map((way) => `${way}; echo gone`),
      { sandbox: 'off' },
    )
    expect(outputs.filter((output) => !output.includes('gone'))).toEqual([])
    await escaped(word)
    await session.close()
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })

  it('ends when the host is killed with SIGKILL', async () => {
    const word = randomUUID()
    const shell = { root: join(place, 'work'), ledgerDir: join(place, 'ledger'), sandbox: 'off' } as const
    const runs = ways(word).map((way) => `${way}; sleep 300`)
    const host = startHost(compiled.directory, { shell, runs })
    await once(host.stdout, 'data')
    await escaped(word)
    host.kill('SIGKILL')
    await once(host, 'exit')
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })

  it('ends at the next start when host and watcher were killed', async () => {
    const word = randomUUID()
    const shell = { root: join(place, 'work'), ledgerDir: join(place, 'ledger'), sandbox: 'off' } as const
    const host = startHost(compiled.directory, { shell, runs: ways(word).map((way) => `${way}; sleep 300`) })
    await once(host.stdout, 'data')
    await escaped(word)
    host.kill('SIGSTOP')
    for (const line of await waitForProcesses(`${place}/ledger`, () => true, 0))
      if (line.includes('capstan-watch')) process.kill(Number(line.split(' ')[0]), 'SIGKILL')
    host.kill('SIGKILL')
    await once(host, 'exit')
    expect(await waitForProcesses(word, (count) => count > 0)).not.toEqual([])
    await sweepLedgers(join(place, 'ledger'))
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })
})
