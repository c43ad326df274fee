import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factor } from '../../../test/support/fault-factor.js'
import { hasThreads, programWithoutFirstThread } from '../../../test/support/first-thread.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { thisProcess } from '../../workspace/scratch/owner.js'
import type { SessionRecord } from '../records.js'
import { type FileLayer, nodeFiles } from './file-layer.js'
import { FileSessionStore } from './file-session-store.js'
import { type HeldLease, isStillHeld, releaseLease, takeLease } from './lease-file.js'

const top = sharedDirectory()
const opener = { holder: 'test', now: () => 1 } as const
const children: ChildProcess[] = []
let made = 0

/** Another process: opens on demand, reports the result, and releases the session or ends. */
const program = `
import { FileSessionStore } from './store.mjs'
let log
process.on('message', async ([verb, directory, id, holder]) => {
  try {
    if (verb === 'open') {
      log = await new FileSessionStore(directory).open(id, { holder, durability: 'exit', now: () => 1 })
      await log.append([{ type: 'run_event', data: { runId: holder, sequence: log.lease.fence, timestampMs: 1, event: 'won' } }])
    } else { await log?.close(); log = undefined }
    process.send({ won: log !== undefined, fence: log?.lease.fence })
  } catch (error) { process.send({ won: false, code: error.code, holder: error.lease?.holder }) }
})
process.send('ready')
`

type Reply = { won: boolean; fence?: number; code?: string; holder?: string }

beforeAll(async () => {
  const source = fileURLToPath(new URL('./file-session-store.ts', import.meta.url))
  const bundle = await rolldown({
    input: source,
    platform: 'node',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  await bundle.write({ file: join(top, 'store.mjs'), format: 'esm' })
  await bundle.close()
  writeFileSync(join(top, 'child.mjs'), program)
})

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function startChild(): Promise<ChildProcess> {
  const child = fork(join(top, 'child.mjs'), { execArgv: [] })
  children.push(child)
  await once(child, 'message')
  return child
}

async function ask(child: ChildProcess, ...message: string[]): Promise<Reply> {
  const answer = once(child, 'message')
  child.send(message)
  const [reply] = (await answer) as [Reply]
  return reply
}

async function die(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe('the lease of a session', () => {
  it('is given to exactly one of several racing processes, and a dead holder is replaced at once', async () => {
    const rivals = await Promise.all([0, 1, 2, 3].map(startChild))
    const directory = join(top, 'races')
    const races = 60 * Math.min(factor, 16)
    const fences = new Map<string, number>()
    for (let race = 0; race < races; race++) {
      // New and existing sessions, released or held by dead processes.
      const id = race % 3 === 0 ? `new-${race}` : 'known'
      const replies = await Promise.all(
        rivals.map((child, at) => ask(child, 'open', directory, id, `rival ${at}`)),
      )
      const winner = replies.findIndex(({ won }) => won)
      expect(
        replies.filter(({ won }) => won),
        `race ${race}`,
      ).toHaveLength(1)
      for (const reply of replies.filter(({ won }) => !won))
        expect(reply).toMatchObject({ code: 'session_locked', holder: `rival ${winner}` })
      const fence = replies[winner]?.fence ?? 0
      expect(fence).toBeGreaterThan(fences.get(id) ?? 0)
      fences.set(id, fence)
      const child = rivals[winner] as ChildProcess
      if (race % 20 !== 19) await ask(child, 'close')
      else {
        await die(child)
        rivals[winner] = await startChild()
      }
    }
    const store = new FileSessionStore(directory)
    const stored = store.readSync('known')
    expect(stored?.damage).toBeUndefined()
    const sequence = (stored?.records ?? []).map((record) =>
      record.type === 'run_event' ? record.data.sequence : 0,
    )
    expect(sequence).toEqual(sequence.toSorted((a, b) => a - b))
    expect(new Set(sequence).size).toBe(races - Math.ceil(races / 3))
    const leftovers = readdirSync(join(directory, 'known')).filter((name) => !name.startsWith('lease-'))
    expect(leftovers).toEqual(['log.jsonl'])
  })

  it('of a live process is respected, and taken over at once when the process was killed', async () => {
    const child = await startChild()
    const store = new FileSessionStore(join(top, `${made++}`))
    await ask(child, 'open', store.directory, 's', 'the child')
    await expect(store.open('s', opener)).rejects.toMatchObject({
      code: 'session_locked',
      lease: { holder: 'the child', pid: child.pid, fence: 1 },
    })
    await expect(store.delete('s')).rejects.toMatchObject({ code: 'session_locked' })
    await die(child)
    const log = await store.open('s', opener)
    expect(log.lease.fence).toBe(2)
    expect(store.readSync('s')?.records).toHaveLength(1)
    await log.close()
  })

  it.runIf(hasThreads)(
    'of a process whose first thread has ended is respected until its others end',
    async () => {
      const child = spawn('sh', ['-c', `exec ${programWithoutFirstThread('syswrite STDOUT, 1; sleep 300')}`])
      children.push(child)
      await once(child.stdout, 'data')
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
      const directory = join(top, `${made++}`)
      const owner = { ...thisProcess(), pid: child.pid ?? 0, started }
      await new FileSessionStore(directory, { owner }).open('s', opener)
      const store = new FileSessionStore(directory)
      await expect(store.open('s', opener)).rejects.toMatchObject({ code: 'session_locked' })
      child.kill('SIGKILL')
      await once(child, 'close')
      const log = await store.open('s', opener)
      expect(log.lease.fence).toBe(2)
      await log.close()
    },
  )

  it('is recognised as that of another process when the process id was reused', async () => {
    const directory = join(top, `${made++}`)
    const before = new FileSessionStore(directory, { owner: { ...thisProcess(), started: '1' } })
    await before.open('s', opener)
    const log = await new FileSessionStore(directory).open('s', opener)
    expect(log.lease.fence).toBe(2)
    await log.close()
  })

  it('of another machine is valid while it is renewed; a holder that was suspended cannot write afterwards', async () => {
    const directory = join(top, `${made++}`)
    const far = new FileSessionStore(directory, {
      owner: { ...thisProcess(), host: 'far' },
      leaseExpiryMs: 30_000,
    })
    const near = new FileSessionStore(directory, { leaseExpiryMs: 30_000 })
    const sleeper = await far.open('s', { ...opener, holder: 'the sleeper' })
    await sleeper.append([event(1)])
    await expect(near.open('s', opener)).rejects.toMatchObject({ lease: { holder: 'the sleeper' } })
    silence(join(directory, 's', 'lease-1.json'))
    const log = await near.open('s', opener)
    expect(log.lease.fence).toBe(2)
    await log.append([event(2)])
    await expect(sleeper.append([event(3)])).rejects.toMatchObject({ code: 'store_lost_lease' })
    await expect(sleeper.append([event(4)])).rejects.toMatchObject({ code: 'store_lost_lease' })
    await sleeper.close()
    await log.append([event(5)])
    await log.close()
    expect(near.readSync('s')).toEqual({ records: [event(1), event(2), event(5)] })
  })

  it('is lost between a check and a write: the old holder’s write reaches no log and is not acknowledged', async () => {
    const directory = join(top, `${made++}`)
    let believes = false
    const files: FileLayer = {
      ...nodeFiles,
      // The check has the result from before the suspension.
      factsAt: (path) => (believes ? known : nodeFiles.factsAt(path)),
      facts: (fd) => (believes ? { ...nodeFiles.facts(fd), links: 1 } : nodeFiles.facts(fd)),
      write(...args) {
        believes = false
        return nodeFiles.write(...args)
      },
    }
    const far = new FileSessionStore(directory, { files, owner: { ...thisProcess(), host: 'far' } })
    const near = new FileSessionStore(directory)
    const sleeper = await far.open('s', opener)
    await sleeper.append([event(1)])
    const known = nodeFiles.factsAt(join(directory, 's', 'lease-1.json'))
    silence(join(directory, 's', 'lease-1.json'))
    const log = await near.open('s', opener)
    await log.append([event(2)])
    believes = true
    await expect(sleeper.append([event(3)])).rejects.toMatchObject({ code: 'store_lost_lease' })
    await log.append([event(4)])
    await log.close()
    await sleeper.close()
    expect(near.readSync('s')).toEqual({ records: [event(1), event(2), event(4)] })
  })

  it('is not given to a competitor that is so slow that others have held it in the meantime', () => {
    const directory = join(top, `${made++}`)
    mkdirSync(directory)
    const request = { files: nodeFiles, directory, sessionId: 's', owner: thisProcess(), expiryMs: 30_000 }
    releaseLease(nodeFiles, takeLease({ ...request, holder: 'the first' }))
    let held: HeldLease | undefined
    const slow: FileLayer = {
      ...nodeFiles,
      link(existing, path) {
        if (held === undefined) {
          releaseLease(nodeFiles, takeLease({ ...request, holder: 'the second' }))
          held = takeLease({ ...request, holder: 'the third' })
        }
        nodeFiles.link(existing, path)
      },
    }
    expect(() => takeLease({ ...request, files: slow, holder: 'the slow one' })).toThrow(/held by the third/)
    expect(held?.lease.fence).toBe(3)
    expect(held !== undefined && isStillHeld(nodeFiles, held)).toBe(true)
    expect(readdirSync(directory)).toEqual(['lease-3.json'])
    if (held !== undefined) releaseLease(nodeFiles, held)
  })

  it('of a session that seems new is not taken while another process holds it', () => {
    const directory = join(top, `${made++}`)
    mkdirSync(directory)
    const request = { files: nodeFiles, directory, sessionId: 's', owner: thisProcess(), expiryMs: 30_000 }
    for (const holder of ['the first', 'the second']) {
      const held = takeLease({ ...request, holder })
      const before = readdirSync(directory)
      const late = { ...request, holder: 'the late one', isNew: true }
      expect(() => takeLease(late)).toThrow(`held by ${holder}`)
      expect(readdirSync(directory)).toEqual(before)
      expect(isStillHeld(nodeFiles, held)).toBe(true)
      releaseLease(nodeFiles, held)
    }
    const held = takeLease({ ...request, holder: 'the third', isNew: true })
    expect(held.lease.fence).toBe(3)
    expect(readdirSync(directory)).toEqual(['lease-3.json'])
    releaseLease(nodeFiles, held)
  })

  it('of a session that was just created needs one listing of its directory', async () => {
    const listed: string[] = []
    const list = (path: string): string[] => {
      listed.push(path)
      return nodeFiles.list(path)
    }
    const store = new FileSessionStore(join(top, `${made++}`), { files: { ...nodeFiles, list } })
    await store.create('s', [event(1)])
    const log = await store.open('s', opener)
    await log.append([event(2)])
    await log.close()
    expect(listed).toEqual([join(store.directory, 's')])
  })

  it('is renewed automatically', async () => {
    const directory = join(top, `${made++}`)
    const far = new FileSessionStore(directory, {
      owner: { ...thisProcess(), host: 'far' },
      leaseExpiryMs: 200,
    })
    const near = new FileSessionStore(directory, { leaseExpiryMs: 200 })
    const log = await far.open('s', opener)
    const path = join(directory, 's', 'lease-1.json')
    silence(path)
    // Three renewals happen before it would have expired.
    await new Promise((resolve) => setTimeout(resolve, 150))
    await expect(near.open('s', opener)).rejects.toMatchObject({ code: 'session_locked' })
    await log.close()
    await (await near.open('s', opener)).close()
  })

  it('that is empty after a power cut expires by its age alone', async () => {
    const store = new FileSessionStore(join(top, `${made++}`))
    await (await store.open('s', opener)).close()
    const path = join(store.directory, 's', 'lease-7.json')
    writeFileSync(path, '')
    await expect(store.open('s', opener)).rejects.toMatchObject({ code: 'session_locked' })
    silence(path)
    const log = await store.open('s', opener)
    expect(log.lease.fence).toBe(8)
    await log.close()
  })
})

function event(sequence: number): SessionRecord {
  return { type: 'run_event', data: { runId: 'r', sequence, timestampMs: 1, event: 'x' } }
}

/** As if it had not been renewed for a long time. */
function silence(path: string): void {
  utimesSync(path, 1, 1)
}
