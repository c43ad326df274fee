import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from '../cli/drive.js'
import { connectPeer, newSession, promptOf } from './drive.js'
import { spawnAcp } from './process.js'

/** Prints on standard output when the process gets a signal, as a careless library would. */
const printer = `data:text/javascript,${encodeURIComponent(
  "process.on('SIGUSR2', () => { console.log('noise'); process.stdout.write('more noise\\n') })",
)}`

describe('the process of capstan acp', () => {
  it('has only the protocol on standard output, whatever other code prints', async () => {
    const place = await openPlace()
    const { flags } = await place.model(['Quiet.'])
    const acp = spawnAcp(place, flags, { NODE_OPTIONS: `--import=${printer}` })
    const peer = connectPeer(acp.child.stdin, acp.child.stdout, place)
    await peer.request('initialize', { protocolVersion: 1 })
    acp.child.kill('SIGUSR2')
    await expect.poll(acp.stderr).toContain('more noise')
    const sessionId = await newSession(peer)
    // A line that is not a message would have thrown in the client.
    await peer.request('session/prompt', promptOf(sessionId, 'Hush.'))
    expect(peer.problems).toEqual([])
    acp.child.stdin.end()
    await expect(acp.ended).resolves.toBe(0)
  })

  it('answers requests that arrived before the end of its input, and ends', async () => {
    const place = await openPlace()
    const acp = spawnAcp(place)
    let output = ''
    acp.child.stdout.on('data', (data) => {
      output += String(data)
    })
    acp.child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    await expect(acp.ended).resolves.toBe(0)
    expect(JSON.parse(output)).toMatchObject({ id: 1, result: { protocolVersion: 1 } })
  })

  it.runIf(process.platform === 'linux')('ends with its client, and ends the running commands', async () => {
    const place = await openPlace()
    const mark = `600.${Date.now()}${Math.floor(Math.random() * 1e6)}`
    const bash = { name: 'bash', args: { command: `echo begun; sleep ${mark}` } }
    const { flags } = await place.model([{ toolCalls: [bash] }])
    const acp = spawnAcp(place, [...flags, '--mode', 'full'])
    const peer = connectPeer(acp.child.stdin, acp.child.stdout, place)
    const sessionId = await newSession(peer)
    void peer.request('session/prompt', promptOf(sessionId, 'Sleep.'))
    await peer.until((message) => JSON.stringify(message).includes('begun\\n'))
    await expect.poll(() => commandLines(mark)).not.toEqual([])
    acp.child.stdin.destroy()
    acp.child.stdout.destroy()
    await expect(acp.ended).resolves.toBe(0)
    await expect.poll(() => commandLines(mark)).toEqual([])
  })

  it('ends on a signal while a prompt is active', async () => {
    const place = await openPlace()
    const { flags, server } = await place.model([{ text: 'Never.', stall: true }])
    const acp = spawnAcp(place, flags)
    const peer = connectPeer(acp.child.stdin, acp.child.stdout, place)
    const sessionId = await newSession(peer)
    const turn = peer.request('session/prompt', promptOf(sessionId, 'Wait.'))
    await server.request(0)
    acp.child.kill('SIGTERM')
    await expect(turn).resolves.toEqual({ stopReason: 'cancelled' })
    await acp.ended
  })
})

/** The command lines of processes that have this text. */
async function commandLines(mark: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    // A process may end while it is looked at.
    const line = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '')
    if (line.split('\0').includes(mark)) found.push(line)
  }
  return found
}
