import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { createClient, type PlacedEvent, type RemoteSession } from '../../src/client/index.js'
import { startModelServer } from '../../src/testing/index.js'
import { type ServerProcess, spawnServer } from './process.js'
import { directory } from './support.js'

const runs = 20
const kills = 2

describe('a server that is killed', () => {
  it(`during ${runs} runs: the clients reconnect to the next process and finish, each with every event once`, async () => {
    const cwd = directory()
    // Every second run is held at its second answer until the last kill, so that each kill cuts runs off.
    let held = 0
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const models = await startModelServer(async (request) => {
      const body = JSON.stringify(request.body)
      // The first answer of a run calls a tool, the second ends it.
      const isSecond = body.includes('"role":"tool"')
      if (isSecond && body.includes('Look and wait.')) {
        held += 1
        await released
      }
      return isSecond
        ? { text: 'The listing is complete, and here is the end.', chunkDelayMs: 20 }
        : {
            text: 'I look at the files.',
            toolCalls: [{ name: 'glob', args: { pattern: '*.acl' } }],
            chunkDelayMs: 20,
          }
    })
    const config = join(cwd, 'server.acl')
    writeFileSync(
      config,
      `default_model = "local/test"\nproviders "local" { base_url = "${models.url}/v1" api_key = "key-of-the-test" models "test" {} }\n`,
    )
    const token = 'token-of-the-kill-tests'
    const start = (): Promise<ServerProcess> =>
      spawnServer(['--config', config, '--store', 'sessions'], { cwd, env: { CAPSTAN_SERVER_TOKEN: token } })
    let server = await start()
    // The address of the newest process; while there is none, connections are refused and tried again.
    const moved: typeof fetch = (input, init) =>
      fetch(String(input).replace(/^http:\/\/[^/]+/, server.url), init)
    const client = createClient({ url: server.url, token, fetch: moved, reconnectMs: 50 })
    const sessions: RemoteSession[] = []
    for (let count = 0; count < runs; count++) sessions.push(await client.createSession())
    const follow = async (
      session: RemoteSession,
      at: number,
      started?: () => void,
    ): Promise<PlacedEvent[]> => {
      const prompt = at % 2 === 0 ? 'Look.' : 'Look and wait.'
      const run = await untilStarted(() => session.run(prompt, { idempotencyKey: `key-${at}` }))
      started?.()
      const events: PlacedEvent[] = []
      for await (const one of run.events()) events.push(one)
      return events
    }
    const last = sessions.splice(-kills)
    const streams = sessions.map((session, at) => follow(session, at))
    for (const [at, session] of last.entries()) {
      await vi.waitFor(() => expect(held).toBeGreaterThan(runs / 10), { timeout: 60_000 })
      // In the moment in which the client reads that one more run was accepted.
      streams.push(follow(session, runs + at, () => server.child.kill('SIGKILL')))
      await server.ended
      held = 0
      server = await start()
    }
    release()
    const all = await Promise.all(streams)
    let restarted = 0
    for (const events of all) {
      const numbers = events.map(({ sequence }) => sequence)
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
      expect(events.at(-1)?.event).toMatchObject({
        type: 'agent_end',
        result: { text: 'The listing is complete, and here is the end.' },
      })
      if (numbers.some((number) => number > 1_000_000_000)) restarted += 1
    }
    console.log(`${runs} runs, ${kills} kills, ${restarted} runs continued in another process`)
    expect(restarted).toBeGreaterThan(runs / 10)
    server.child.kill('SIGTERM')
    await server.ended
    await models.close()
  })
})

/** A request whose connection broke is sent again; its key makes that harmless. */
async function untilStarted<Value>(send: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'invalid_request') throw error
      await wait(100)
    }
  }
}
