import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import { type AhpTransport, HttpTransport, StdioTransport } from '../../src/supervise/index.js'
import { bash, makeWorkspace, openSession, toolResults, whenDone } from '../contract/open-session.js'
import { type PeerEvent, sampleEntry } from './support.js'

const all: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' }, instructionFiles: false }

describe('the sample supervisor', () => {
  it('supervises over its streams', async () => {
    const log = join((await makeWorkspace()).base, 'log')
    await supervise(
      new StdioTransport(process.execPath, [sampleEntry], { env: { SUPERVISOR_LOG: log } }),
      log,
    )
  })

  it('supervises over HTTP, with its token only', async () => {
    const log = join((await makeWorkspace()).base, 'log')
    const env = { ...process.env, SUPERVISOR_LOG: log, SUPERVISOR_TOKEN: 'sample-token' }
    const child = spawn(process.execPath, [sampleEntry, '--http', '0'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    whenDone(async () => child.kill())
    const [url] = await firstLine(child.stdout)
    const stranger = await openSession([], { ...all, ahpTransport: new HttpTransport(url, 'another-token') })
    expect((await stranger.session.tool('bash', { command: 'echo a' })).output).toContain(
      'did not accept the token',
    )
    await supervise(new HttpTransport(url, 'sample-token'), log)
  })
})

async function supervise(transport: AhpTransport, log: string): Promise<void> {
  const { session, server } = await openSession(
    [bash('echo fine'), bash('rm -r made'), bash('git push'), 'done'],
    { ...all, ahpTransport: transport },
  )
  await expect(session.send('My password is x')).rejects.toThrow('No passwords in prompts, please')
  await session.send('Go')
  const [fine, removed, pushed] = toolResults(server, 3)
  expect(fine).toContain('fine')
  expect(removed).toContain('Blocked by the supervisor: Nothing is deleted here')
  expect(pushed).toContain('the supervisor requires that a user decides: Pushing is for a person to decide')
  await session.close()
  const events = (await readFile(log, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as PeerEvent)
  expect(events.at(-1)?.event_type).toBe('session_end')
  expect(events.filter(({ event_type }) => event_type === 'pre_action')).toHaveLength(3)
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<[string]> {
  for await (const line of createInterface({ input: stream })) return [line]
  throw new Error('it said nothing')
}
