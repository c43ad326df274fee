import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocalShell } from '../../../src/workspace/shell/local-shell.js'
import { factor } from '../../support/fault-factor.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'
import { processesWith, waitForProcesses } from './support/processes.js'

const kinds = [
  'sleep 300',
  'sleep 300 & wait',
  `trap '' TERM; sleep 300 & setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & while :; do sleep 300; done`,
  `(setsid bash -c "trap '' TERM; sleep 300" &) ; exec >&- 2>&-; sleep 300`,
  'while :; do (sleep 0.05 &) ; sleep 0.01; done',
  // Double fork, no environment, own session, no output: only the mark is left.
  `(env -i setsid bash -c 'exec 0<&- >/dev/null 2>&1; (sleep 301 & sleep 301) &' & ); sleep 300`,
]

async function abortMany(sandbox: 'off' | 'required', count: number, atOnce: number): Promise<void> {
  const place = temporaryDirectory()
  const root = join(place, 'work')
  mkdirSync(root)
  const word = randomUUID()
  const shell = createLocalShell({
    root,
    ledgerDir: join(place, 'ledger'),
    sandbox,
    env: { WORD: word },
    graceMs: 100,
  })
  try {
    for (let done = 0; done < count; done += atOnce) {
      const controller = new AbortController()
      setMaxListeners(0, controller.signal)
      const batch = Array.from({ length: atOnce }, (_, index) => {
        const command = `echo up; ${kinds[(done + index) % kinds.length]}`
        let tell: () => void = () => undefined
        const up = new Promise<void>((resolve) => {
          tell = resolve
        })
        return { up, outcome: shell.run(command, { signal: controller.signal, onOutput: () => tell() }) }
      })
      await Promise.all(batch.map(({ up }) => up))
      controller.abort()
      for (const outcome of await Promise.all(batch.map((each) => each.outcome))) {
        expect(outcome).toMatchObject({ aborted: true })
        expect(outcome.leftover).toBeUndefined()
      }
      expect(processesWith(word)).toEqual([])
    }
    expect(readdirSync(root)).toEqual([])
  } finally {
    await shell.close()
    expect(await waitForProcesses(word, (left) => left === 0)).toEqual([])
  }
}

describe('abort (FT-14, SEC-132)', () => {
  it(
    `returns and leaves no process, ${36 * factor} times`,
    async () => {
      await abortMany('off', 36 * factor, 18)
    },
    120_000 * factor,
  )
})

describeWithBubblewrap('abort inside a sandbox (FT-14, SEC-132)', () => {
  it(
    `returns and leaves no process and no placeholder, ${12 * factor} times`,
    async () => {
      await abortMany('required', 12 * factor, 12)
    },
    120_000 * factor,
  )
})

describeWithBubblewrap('concurrent commands in one workspace', () => {
  let place: string
  let root: string
  beforeEach(() => {
    place = temporaryDirectory()
    root = join(place, 'work')
    mkdirSync(root)
  })

  it('SEC-128 still cannot create control files when another one ends, and when another shell does', async () => {
    const options = { root, ledgerDir: join(place, 'ledger'), sandbox: 'required' } as const
    const [one, two] = [createLocalShell(options), createLocalShell(options)]
    try {
      await one.start(
        'echo up; until [ -e go ]; do sleep 0.02; done; mkdir -p .husky/x; echo x > .mcp.json; mkdir y; mv y .vscode; rmdir y; echo tried',
      )
      await expect.poll(async () => (await one.readJob('job-1')).text).toBe('up\n')
      await two.run('true')
      await two.close()
      await one.run('true')
      expect(readdirSync(root)).toEqual([])
      await one.run('touch go')
      await expect.poll(async () => (await one.readJob('job-1')).job.running).toBe(false)
      expect((await one.readJob('job-1')).text).toMatch(/tried\n$/)
      expect(readdirSync(root)).toEqual(['go'])
    } finally {
      await Promise.all([one.close(), two.close()])
    }
  })

  it('SEC-128 do not change a directory that they must not write to', async () => {
    const shell = createLocalShell({ root, ledgerDir: join(place, 'ledger'), sandbox: 'required' })
    try {
      mkdirSync(join(root, 'out'))
      for (const writable of [[], [join(root, 'out')]]) {
        const command = 'mkdir .vscode 2>/dev/null; (echo x > .npmrc) 2>/dev/null; echo up; sleep 300'
        const job = await shell.start(command, { confine: { writable } })
        await expect.poll(async () => (await shell.readJob(job.id)).text).toBe('up\n')
        expect(readdirSync(root)).toEqual(['out'])
        await shell.killJob(job.id)
        expect(readdirSync(root)).toEqual(['out'])
      }
    } finally {
      await shell.close()
    }
  })

  it('run as background jobs that can be read and killed', async () => {
    const word = randomUUID()
    const shell = createLocalShell({
      root,
      ledgerDir: join(place, 'ledger'),
      sandbox: 'required',
      env: { WORD: word },
    })
    try {
      await shell.start(`echo one; trap 'echo bye' TERM; setsid sleep 300 & while :; do sleep 0.1; done`)
      await expect.poll(async () => (await shell.readJob('job-1')).text).toBe('one\n')
      expect(await shell.killJob('job-1')).toMatchObject({ running: false })
      expect((await shell.readJob('job-1', 4)).text).toMatch(/bye/)
      expect(processesWith(word)).toEqual([])
    } finally {
      await shell.close()
    }
  })
})
