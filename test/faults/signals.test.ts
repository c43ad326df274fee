/**
 * FT-26: a host with a session at work gets SIGTERM, SIGINT, SIGHUP, or loses its output. With `agent.close()` in its
 * handler it stops within two seconds, leaves no process behind, and Node ends by itself: no handle is left.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { openServer, type Script } from '../contract/open-session.js'
import { waitForProcesses } from '../security/sandbox/support/processes.js'
import { startHost } from '../support/host-process.js'
import { overlappingTests } from '../support/overlapping-tests.js'

const stubborn = `trap '' TERM INT HUP; setsid sleep 300 & sleep 300 & echo up; while :; do sleep 300; done`
const commanding: Script = [{ toolCalls: [{ name: 'bash', args: { command: stubborn } }] }]
const silent: Script = [{ text: 'And then', stall: 2 }]

describe('FT-26: a host that receives a signal to stop', () => {
  const it = overlappingTests()

  const cases: readonly (readonly [string, NodeJS.Signals, string, Script])[] = [
    ['while a command runs', 'SIGTERM', 'tool_output_delta', commanding],
    ['while a command runs', 'SIGINT', 'tool_output_delta', commanding],
    ['while a command runs', 'SIGHUP', 'tool_output_delta', commanding],
    ['while the model speaks', 'SIGTERM', 'text_delta', silent],
  ]
  for (const [when, signal, at, script] of cases)
    it(`${when}, by ${signal}, stops and leaves nothing`, async () => {
      const word = randomUUID()
      const server = await openServer(script)
      const host = startHost('faults/signals-host.mjs', { url: server.url, word, at })
      expect(await host.next()).toEqual({ at })
      host.child.kill(signal)
      const lines = [await host.next(), await host.next()]
      const exit = await host.exited
      const closed = lines.find((line) => 'closedMs' in line)
      console.info(
        `FT-26: ${signal} ${when}: closed in ${closed?.['closedMs']} ms, last handle ${closed?.['leftMs']} ms later`,
      )
      expect(lines).toContainEqual({ code: 'session_closed' })
      expect(exit).toEqual({ code: 7, signal: null })
      expect(closed?.['left']).toEqual([])
      expect(await waitForProcesses(word, (left) => left === 0)).toEqual([])
    })

  it('stops too when its output has no reader any more', async () => {
    const word = randomUUID()
    const server = await openServer(commanding)
    const host = startHost('faults/signals-host.mjs', {
      url: server.url,
      word,
      at: 'tool_output_delta',
      stop: 'stdout',
    })
    expect(await host.next()).toEqual({ at: 'tool_output_delta' })
    host.child.stdout.destroy()
    expect(await host.exited).toEqual({ code: 7, signal: null })
    expect(await waitForProcesses(word, (left) => left === 0)).toEqual([])
  })

  it('ends by itself at the end of its work, without a signal', async () => {
    const word = randomUUID()
    const server = await openServer([
      { toolCalls: [{ name: 'bash', args: { command: 'echo hi' } }] },
      'Done.',
    ])
    const host = startHost('faults/signals-host.mjs', { url: server.url, word, stop: 'end' })
    expect(await host.next()).toEqual({ answer: 'Done.' })
    const closed = await host.next()
    expect(await host.exited).toEqual({ code: 7, signal: null })
    expect(closed['left']).toEqual([])
    expect(await waitForProcesses(word, (left) => left === 0)).toEqual([])
  })
})
