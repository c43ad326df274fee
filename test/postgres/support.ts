import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { SessionRecord } from '../../src/store/records.js'
import type { SessionLog, SessionStore } from '../../src/store/session-store.js'

export function opener(holder = 'the test') {
  return { holder, now: () => 1_000 }
}

export function event(sequence: number, text = 'x'.repeat(200)): SessionRecord {
  return { type: 'run_event', data: { runId: 'r', sequence, timestampMs: 1, event: { type: 'note', text } } }
}

/** The numbers of the events that a store has of a session, in their order. */
export async function numbersIn(store: SessionStore, sessionId: string): Promise<number[]> {
  const stored = await store.read(sessionId)
  if (stored?.damage !== undefined) throw new Error(stored.damage)
  return (stored?.records ?? []).flatMap((record) =>
    record.type === 'run_event' ? [record.data.sequence] : [],
  )
}

/** Appends batches of two events until it is stopped. Rejects when an append does. */
export async function writeUntil(
  log: SessionLog,
  isOver: () => boolean,
  acknowledged: () => void = () => undefined,
): Promise<number> {
  let count = 0
  while (!isOver()) {
    await log.append([event(count), event(count + 1)])
    count += 2
    acknowledged()
  }
  return count
}

export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

/** A network in front of a server on a local socket: connections are cut, and answers lost, on request. */
export async function startProxy(serverUrl: string) {
  const target = `${new URL(serverUrl).searchParams.get('host')}/.s.PGSQL.5432`
  const open = new Set<{ cut(): void; deafen(): void; readonly isBusy: boolean }>()
  let pausing: { readonly after: string; done(): void } | undefined
  let held: (() => void)[] | undefined
  const server = createServer((client) => {
    const upstream: Socket = connect(target)
    let isDeaf = false
    let isBusy = false
    const link = {
      cut: () => {
        client.destroy()
        upstream.destroy()
      },
      deafen: () => {
        isDeaf = true
      },
      get isBusy() {
        return isBusy
      },
    }
    open.add(link)
    client.on('data', (bytes) => {
      isBusy = true
      if (held !== undefined) return void held.push(() => upstream.write(bytes))
      upstream.write(bytes)
      if (pausing === undefined || !bytes.includes(pausing.after)) return
      held = []
      pausing.done()
      pausing = undefined
    })
    upstream.on('data', (bytes) => {
      // The server has done the work, and its answer is lost with the connection.
      if (isDeaf) return link.cut()
      isBusy = false
      client.write(bytes)
    })
    for (const socket of [client, upstream]) {
      socket.on('error', () => link.cut())
      socket.on('close', () => {
        open.delete(link)
        link.cut()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const link of open) link.cut()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `postgres://capstan@127.0.0.1:${port}${new URL(serverUrl).pathname}`,
    /** Passes nothing on after a statement with this text: for the server the clients are paused. Resolves then. */
    pauseAfter: (text: string) =>
      new Promise<void>((resolve) => {
        pausing = { after: text, done: resolve }
      }),
    /** Passes on what was sent in the pause, and everything from now on. */
    resume: () => {
      const late = held ?? []
      held = undefined
      for (const write of late) write()
    },
    /** Cuts a connection, preferably one that waits for an answer. False when there is none. */
    cut: () => act(open, (link) => link.cut()),
    /** Loses the next answer on a connection, preferably one that waits for it. */
    loseAnswer: () => act(open, (link) => link.deafen()),
  }
}

function act<Link extends { readonly isBusy: boolean }>(
  links: Set<Link>,
  work: (link: Link) => void,
): boolean {
  const all = [...links]
  const link = all.find(({ isBusy }) => isBusy) ?? all[0]
  if (link !== undefined) work(link)
  return link !== undefined
}
