import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openSession } from '../contract/open-session.js'
import { startHost } from '../support/host-process.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { badEntry, badServer, eventually, processesWith } from './support.js'

const limit = 120_000
const newWord = (): string => `orphan-${randomBytes(6).toString('hex')}`

describe('no process of a server is left', { timeout: limit }, () => {
  it.each(['off', 'auto'] as const)('after close, removal and a loss (sandbox %s)', async (sandbox) => {
    const options = { sandbox }
    const confined =
      sandbox === 'off' ? {} : ({ sandbox: 'workspace', readOnly: [badEntry.replace(/[^/]*$/, '')] } as const)
    for (const fault of ['none', 'ignores-sigterm', 'daemonises', 'hang-call'])
      for (const how of ['close', 'remove'] as const) {
        const word = newWord()
        const { session } = await openSession([], options)
        await session.addMcp(badServer(fault, word, confined))
        expect(processesWith(word).length).toBeGreaterThan(0)
        await (how === 'close' ? session.close() : session.removeMcp('bad'))
        expect(processesWith(word), `${fault} ${how}`).toEqual([])
      }
    const word = newWord()
    const { session } = await openSession([], options)
    await session.addMcp(badServer('daemonises', word, confined))
    const [pid = 0] = [Number((await session.tool('mcp__bad__echo', { message: 'pid' })).output)]
    // Inside a sandbox its number means nothing here.
    if (sandbox === 'off') process.kill(pid, 'SIGKILL')
    else await session.removeMcp('bad')
    await eventually(() => processesWith(word).length === 0)
  })

  it('after a start that failed', async () => {
    const word = newWord()
    const { session } = await openSession([])
    const add = session.addMcp(badServer('hang-initialize', word, { startTimeoutMs: 500 }))
    await expect(add).rejects.toThrow('no answer within 500 ms')
    expect(processesWith(word)).toEqual([])
  })

  it('after the host was killed with SIGKILL', async () => {
    const servers = ['none', 'ignores-sigterm', 'daemonises'].map((fault) => ({ fault, word: newWord() }))
    // With a home of its own: a host that another test starts would end what it finds in the ledgers of this one.
    const home = ['env', `HOME=${temporaryDirectory()}`]
    const host = startHost('mcp/orphans-host.mjs', { servers, badEntry }, [], home)
    await host.next()
    const left = (word: string): number[] => processesWith(word).filter((pid) => pid !== host.child.pid)
    for (const { fault, word } of servers) expect(left(word).length, fault).toBeGreaterThan(0)
    host.child.kill('SIGKILL')
    for (const { word } of servers) await eventually(() => processesWith(word).length === 0)
  })
})
