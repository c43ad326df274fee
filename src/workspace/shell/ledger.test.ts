import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { holdLedger } from './ledger.js'
import { readLedger } from './ledger-file.js'
import { isAlive, processScope, readProcess } from './process-table.js'
import { sweepLedgers } from './sweep.js'

let place: string
beforeEach(() => {
  place = temporaryDirectory()
})

const token = 'ab'.repeat(12)

function writeDeadLedger(scope: string, lines: string, machine = hostname()): string {
  const file = join(place, `${token}.ledger`)
  // The host that wrote it has the pid of a process that is not it.
  writeFileSync(file, `capstan-ledger-1 ${token} ${scope} ${machine} ${process.pid} 1\n${lines}`)
  return file
}

describe('the process ledger', () => {
  it('is shared within a process, lists what runs, and is removed with its last holder', async () => {
    const first = await holdLedger(place)
    const second = await holdLedger(place)
    expect(second.ledger).toBe(first.ledger)
    first.ledger.addGroup({ pid: 123_456, startTime: '77' })
    first.ledger.addStubs([{ kind: 'file', path: '/x/y z' }])
    const file = join(first.ledger.directory, `${first.ledger.token}.ledger`)
    expect(readLedger(file)).toMatchObject({
      host: { pid: process.pid },
      groups: [{ pid: 123_456, startTime: '77' }],
      stubs: [{ kind: 'file', path: '/x/y z' }],
    })
    first.ledger.dropStubs([{ kind: 'file', path: '/x/y z' }])
    expect(readLedger(file)?.stubs).toEqual([])
    await first.release()
    expect(existsSync(file)).toBe(true)
    await second.release()
    expect(readdirSync(place)).toEqual([])
  })

  it('stays small however many commands run', async () => {
    const { ledger, release } = await holdLedger(place)
    for (let pid = 1; pid <= 5000; pid++) {
      ledger.addGroup({ pid: 4_000_000 + pid, startTime: '1' })
      ledger.dropGroup(4_000_000 + pid)
    }
    expect(readFileSync(join(ledger.directory, `${ledger.token}.ledger`), 'utf8').length).toBeLessThan(10_000)
    await release()
  })

  it('is not removed while its host runs', async () => {
    const { release } = await holdLedger(place)
    expect(await sweepLedgers(place)).toBe(0)
    await release()
  })
})

describe('the cleanup of process ledgers', () => {
  it('ends only the recorded process, not another one with the same pid', async () => {
    const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
    const entry = readProcess(child.pid ?? -1)
    if (entry === undefined) throw new Error('sleep did not start')
    try {
      writeDeadLedger(processScope(), `group ${entry.pid} 1\n`)
      expect(await sweepLedgers(place)).toBe(1)
      expect(isAlive(entry)).toBe(true)

      writeDeadLedger(processScope(), `group ${entry.pid} ${entry.startTime}\n`)
      const gone = once(child, 'exit')
      expect(await sweepLedgers(place)).toBe(1)
      await gone
      expect(isAlive(entry)).toBe(false)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('removes placeholders that are still empty, and keeps those with content', async () => {
    mkdirSync(join(place, 'empty'))
    mkdirSync(join(place, 'full'))
    writeFileSync(join(place, 'full/x'), 'x')
    writeFileSync(join(place, 'blank'), '')
    writeFileSync(join(place, 'written'), 'x')
    const lines = ['d empty', 'd full', 'f blank', 'f written'].map(
      (line) => `stub ${line.replace(' ', ` ${place}/`)}\n`,
    )
    writeDeadLedger(processScope(), lines.join(''))
    await sweepLedgers(place)
    expect(readdirSync(place).sort()).toEqual(['full', 'written'])
  })

  it('removes the ledgers of earlier boots, and keeps those of other machines and containers', async () => {
    writeDeadLedger('other-boot/pid:[1]', '')
    expect(await sweepLedgers(place)).toBe(1)
    writeDeadLedger('other-boot/pid:[1]', '', 'another-machine')
    expect(await sweepLedgers(place)).toBe(0)
    writeDeadLedger(`${processScope().split('/')[0]}/pid:[1]`, '')
    expect(await sweepLedgers(place)).toBe(0)
  })

  it('ignores files that are not a ledger', async () => {
    writeFileSync(join(place, 'x.ledger'), 'group 1 1\n')
    writeFileSync(join(place, 'y.ledger'), '')
    expect(await sweepLedgers(place)).toBe(0)
  })
})
