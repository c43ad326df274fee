import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LocalShellOptions } from '../../../src/workspace/shell/local-shell.js'
import { sweepLedgers } from '../../../src/workspace/shell/sweep.js'
import { hasThreads, programWithoutFirstThread } from '../../support/first-thread.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { compileShell } from './support/compiled.js'
import { type HostRequest, startHost } from './support/host.js'
import { describeWithBubblewrap, describeWithEachSandbox } from './support/needs-bubblewrap.js'
import { processesWith, waitForProcesses, withoutFirstThread } from './support/processes.js'

let compiled: ReturnType<typeof compileShell>
let place: string
beforeAll(() => {
  compiled = compileShell()
})
afterAll(() => compiled.remove())
beforeEach(() => {
  place = temporaryDirectory()
})

/** Every way we know to get away from a parent. */
const clingers = [
  'sleep 300',
  'sleep 300 & sleep 300 & wait',
  'setsid sleep 300 & sleep 300',
  'nohup sleep 300 >/dev/null 2>&1 & sleep 300',
  `trap '' TERM HUP INT; while :; do sleep 1; done`,
  '(setsid bash -c "trap \'\' TERM HUP; exec sleep 300" >/dev/null 2>&1 &); exec sleep 300',
]

async function killHostWhileRunning(
  request: HostRequest,
  atLeast: number,
): Promise<{ word: string; before: number }> {
  const word = randomUUID()
  const shell = request.shell
  const runs = request.runs?.map((run) => (typeof run === 'string' ? run.replace('@WORD@', word) : run))
  const withWord = {
    ...request,
    ...(runs === undefined ? {} : { runs }),
    ...(shell === undefined ? {} : { shell: { ...shell, env: { ORPHAN_WORD: word } } }),
  }
  const host = startHost(compiled.directory, withWord)
  try {
    await once(host.stdout, 'data')
    const before = await waitForProcesses(word, (count) => count >= atLeast)
    expect(before.length).toBeGreaterThanOrEqual(atLeast)
    return { word, before: before.length }
  } finally {
    host.kill('SIGKILL')
    await once(host, 'exit')
  }
}

describe('a host that is killed with SIGKILL (SEC-132, I5)', () => {
  it('leaves no process two seconds later: plain, background, setsid, nohup, ignoring TERM, double fork', async () => {
    const shell = { root: place, ledgerDir: join(place, 'ledger'), sandbox: 'off' } as const
    const { word } = await killHostWhileRunning({ shell, runs: clingers }, 12)
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })

  it('leaves no background job', async () => {
    const shell = { root: place, ledgerDir: join(place, 'ledger'), sandbox: 'off' } as const
    const { word } = await killHostWhileRunning({ shell, jobs: clingers, linger: true }, 12)
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })

  it.runIf(hasThreads)('leaves no process whose first thread has ended', () =>
    leavesNoneWithoutFirstThread('off'),
  )

  it('leaves no file either', async () => {
    const ledgerDir = join(place, 'ledger')
    const { word } = await killHostWhileRunning(
      { shell: { root: place, ledgerDir, sandbox: 'off' }, runs: ['sleep 300'] },
      1,
    )
    await waitForProcesses(word, (count) => count === 0)
    await expect.poll(() => readdirSync(ledgerDir)).toEqual([])
  })

  it('gets a new watcher when its watcher is killed', async () => {
    const ledgerDir = join(place, 'ledger')
    const word = randomUUID()
    const shell = { root: place, ledgerDir, sandbox: 'off', env: { ORPHAN_WORD: word } } as const
    const host = startHost(compiled.directory, { shell, runs: ['setsid sleep 300 & sleep 300'] })
    await once(host.stdout, 'data')
    await waitForProcesses(word, (count) => count >= 3)
    const [first = -1] = watchersOf(ledgerDir)
    process.kill(first, 'SIGKILL')
    await expect.poll(() => watchersOf(ledgerDir).filter((pid) => pid !== first).length).toBe(1)
    host.kill('SIGKILL')
    await once(host, 'exit')
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
  })

  it('is cleaned up at the next start when its watcher was killed as well', async () => {
    const ledgerDir = join(place, 'ledger')
    const word = randomUUID()
    const shell = { root: place, ledgerDir, sandbox: 'off', env: { ORPHAN_WORD: word } } as const
    const host = startHost(compiled.directory, { shell, runs: clingers })
    await once(host.stdout, 'data')
    await waitForProcesses(word, (count) => count >= 12)
    // Stopped first: a host that lives starts a new watcher at once.
    host.kill('SIGSTOP')
    for (const pid of watchersOf(ledgerDir)) process.kill(pid, 'SIGKILL')
    host.kill('SIGKILL')
    await once(host, 'exit')
    expect(processesWith(word).length).toBeGreaterThanOrEqual(10)

    expect(await sweepLedgers(ledgerDir)).toBe(1)
    // A process that was killed may still be on its way out.
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
    expect(readdirSync(ledgerDir)).toEqual([])
  })
})

describeWithBubblewrap('a host with a sandbox that is killed with SIGKILL (SEC-132)', () => {
  it('leaves no process, not even one that cleared its environment, and no placeholder in the workspace', async () => {
    const root = join(place, 'work')
    mkdirSync(root)
    const shell = { root, ledgerDir: join(place, 'ledger'), sandbox: 'required' } as const
    // No environment, no group, no pipe, no parent: only the pid namespace still has it.
    const lonely = `(env -i setsid bash -c 'sleep 300; : @WORD@' >/dev/null 2>&1 &); sleep 300`
    const { word } = await killHostWhileRunning({ shell, runs: [...clingers, lonely] }, 14)
    expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
    await expect.poll(() => readdirSync(root)).toEqual([])
  })
})

describeWithEachSandbox('a host with a sandbox that is killed with SIGKILL', (backend) => {
  it.runIf(hasThreads)('leaves no process whose first thread has ended', () =>
    leavesNoneWithoutFirstThread(backend),
  )
})

/** Such a process looks like a zombie, and only its other threads have an environment. */
async function leavesNoneWithoutFirstThread(sandbox: LocalShellOptions['sandbox']): Promise<void> {
  const root = join(place, 'work')
  mkdirSync(root)
  const word = randomUUID()
  const shell = { root, ledgerDir: join(place, 'ledger'), sandbox, env: { ORPHAN_WORD: word } }
  const jobs = [`(setsid ${programWithoutFirstThread('sleep 300')} >/dev/null 2>&1 &); sleep 300`]
  const host = startHost(compiled.directory, { shell, jobs, linger: true })
  try {
    const isThere = (): boolean => processesWith(word).some((line) => line.endsWith(withoutFirstThread))
    await expect.poll(isThere).toBe(true)
  } finally {
    host.kill('SIGKILL')
    await once(host, 'exit')
  }
  expect(await waitForProcesses(word, (count) => count === 0)).toEqual([])
}

function watchersOf(ledgerDir: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1')
      return line.includes('capstan-watch') && line.includes(ledgerDir) ? [Number(name)] : []
    } catch {
      return []
    }
  })
}
