import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { serveMcp } from '../../src/session/serve-mcp.js'
import type { Session } from '../../src/session/session.js'
import { openSession } from '../contract/open-session.js'

const limit = 120_000

/** Another agent's client, on the official library, connected to this session. */
async function connected(session: Session, options?: Parameters<typeof serveMcp>[2]) {
  const { Client } = await import('@modelcontextprotocol/client')
  const { StreamChannel } = await import('../../src/mcp/channel/stream-channel.js')
  const [up, down] = [new PassThrough(), new PassThrough()]
  const serving = await serveMcp(session, { input: up, output: down }, options)
  const client = new Client({ name: 'other', version: '1' })
  await client.connect(new StreamChannel(down, up) as never)
  return { client, serving, up }
}
const textOf = (result: object): string => (result as { content: { text: string }[] }).content[0]?.text ?? ''

describe('a session as a server', { timeout: limit }, () => {
  it('offers its tools, and every call passes the gate like a call of a model', async () => {
    const { session } = await openSession(
      [],
      { permissionPolicy: { allow: ['bash(echo *)'] } },
      { 'a.txt': 'hello' },
    )
    const { client, serving } = await connected(session)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['read', 'bash', 'grep']))
    const read = await client.callTool({ name: 'read', arguments: { file_path: 'a.txt' } })
    expect(textOf(read)).toContain('hello')
    const allowed = await client.callTool({ name: 'bash', arguments: { command: 'echo hi' } })
    expect(textOf(allowed)).toContain('hi')
    const refused = await client.callTool({ name: 'bash', arguments: { command: 'touch x' } })
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('No user can be asked')
    const host = await client.callTool({ name: 'host_read_text', arguments: { file_path: 'a.txt' } })
    expect(host.isError).toBe(true)
    expect(session.traceEvents().map(({ name }) => name)).toContain('read')
    await serving.close()
    await serving.ended
  })

  it('offers only the tools that were named', async () => {
    const { session } = await openSession([], {}, { 'a.txt': 'hello' })
    const { client } = await connected(session, { tools: ['read'] })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read'])
    const other = await client.callTool({ name: 'grep', arguments: { pattern: 'h' } })
    expect(textOf(other)).toContain('not offered')
  })

  it('stops a call that is cancelled, and everything some time after the client has disconnected', async () => {
    const { session } = await openSession([], { permissionPolicy: { allow: ['bash'] } })
    const { client, serving, up } = await connected(session, { drainTimeoutMs: 300 })
    const stop = new AbortController()
    const waiting = { name: 'bash', arguments: { command: 'echo started; sleep 60' } }
    const call = client.callTool(waiting, { signal: stop.signal, onprogress: () => stop.abort() })
    await expect(call).rejects.toThrow()
    const second = client.callTool(waiting, { onprogress: () => up.end() }).catch(() => 'gone')
    await serving.ended
    await session.close()
    await client.close()
    expect(await second).toBe('gone')
  })

  it('answers requests that arrived before the input ended, and ends only then', async () => {
    const { session } = await openSession([], { permissionPolicy: { allow: ['bash'] } })
    const { client, serving, up } = await connected(session)
    const stop = new AbortController()
    const taken = client.callTool(
      { name: 'bash', arguments: { command: 'sleep 60' } },
      { signal: stop.signal },
    )
    const call = client.callTool({ name: 'bash', arguments: { command: 'sleep 0.3; echo late' } })
    stop.abort()
    await expect(taken).rejects.toThrow()
    up.end()
    // The one that was taken back is not waited for.
    await serving.ended
    expect(textOf(await call)).toContain('late')
  })

  it('reports the progress of a call', async () => {
    const { session } = await openSession([], { permissionPolicy: { allow: ['bash'] } })
    const { client } = await connected(session)
    const seen: string[] = []
    const onprogress = ({ message = '' }: { message?: string | undefined }): void => void seen.push(message)
    await client.callTool(
      { name: 'bash', arguments: { command: 'echo one; sleep 0.3; echo two' } },
      { onprogress },
    )
    expect(seen.join('')).toContain('one')
  })
})
