import { describe, expect, it } from 'vitest'
import type { McpServerOptions } from '../../src/mcp/server-options.js'
import type { SessionOptions } from '../../src/session/options.js'
import { openSession, whenDone } from '../contract/open-session.js'
import { type Behave, type HttpServer, resultOf, startHttp } from './http-server.js'

async function open(
  behave?: Behave,
  more: Partial<McpServerOptions> = {},
  options: SessionOptions = {},
): Promise<{
  server: HttpServer
  add(): Promise<number>
  echo(message: string): Promise<string>
  session: Awaited<ReturnType<typeof openSession>>['session']
}> {
  const server = await startHttp(behave)
  whenDone(server.close)
  const { session } = await openSession([], options)
  return {
    server,
    session,
    add: () =>
      session.addMcp({ name: 'web', url: server.url, timeoutMs: 30_000, startTimeoutMs: 30_000, ...more }),
    echo: async (message) => (await session.tool('mcp__web__echo', { message })).output,
  }
}

describe('a server over HTTP that fails', () => {
  it('has forgotten the connection: it is opened again, and the call is repeated', async () => {
    let forgotten = false
    const { add, echo, server } = await open((rpc, request, response) => {
      if (rpc?.method !== 'tools/call' || forgotten || request.headers['mcp-session-id'] !== 'session-1')
        return false
      forgotten = true
      response.writeHead(404).end('{}')
      return true
    })
    await add()
    expect(await echo('once')).toBe('Echo: once')
    expect(server.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2)
  })

  it('cuts its stream off: the answer comes with the next one', async () => {
    let answer = ''
    const { add, echo, server } = await open((rpc, request, response) => {
      const events = { 'content-type': 'text/event-stream' }
      if (rpc?.method === 'tools/call') {
        answer = JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: resultOf(rpc) })
        response.writeHead(200, events).end('id: e-1\nretry: 10\ndata: \n\n')
        return true
      }
      if (request.method !== 'GET' || request.headers['last-event-id'] !== 'e-1') return false
      response.writeHead(200, events).end(`id: e-2\ndata: ${answer}\n\n`)
      return true
    })
    await add()
    expect(await echo('later')).toBe('Echo: later')
    expect(server.seen.some(({ headers }) => headers['last-event-id'] === 'e-1')).toBe(true)
  })

  const answers: readonly [string, Behave, RegExp][] = [
    [
      '500',
      (rpc, _, response) =>
        rpc?.method === 'tools/call' && !!response.writeHead(500).end('s3cr3t-header stack'),
      /HTTP status 500/,
    ],
    ['no answer', (rpc) => rpc?.method === 'tools/call', /no answer within 1500 ms/],
    [
      'HTML',
      (rpc, _, response) =>
        rpc?.method === 'tools/call' &&
        !!response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      /mcp server web/,
    ],
    [
      'broken JSON',
      (rpc, _, response) =>
        rpc?.method === 'tools/call' &&
        !!response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc'),
      /mcp server web/,
    ],
    [
      'a cut connection',
      (rpc, request) => rpc?.method === 'tools/call' && !!request.socket.destroy(),
      /mcp server web is unavailable/,
    ],
    [
      'a compressed body',
      (rpc, _, response) =>
        rpc?.method === 'tools/call' &&
        !!response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end('x'),
      /encoding "gzip"|mcp server web/,
    ],
  ]
  it.each(answers)('answers with %s', async (what, behave, words) => {
    const { add, echo } = await open(behave, {
      headers: { authorization: 'Bearer s3cr3t-header' },
      ...(what === 'no answer' && { timeoutMs: 1_500 }),
    })
    await add()
    const output = await echo('x')
    expect(output).toMatch(words)
    expect(output).not.toContain('s3cr3t')
  })

  it('answers with an endless body: the connection is closed after 10 MB', async () => {
    const megabyte = 1024 * 1024
    let sent = 0
    const { add, echo } = await open(
      (rpc, _, response) => {
        if (rpc?.method !== 'tools/call') return false
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const write = (): void => {
          // Far more than the limit and what the two sockets hold.
          if (response.destroyed || sent >= 40 * megabyte) return
          sent += megabyte
          if (response.write(`data: ${'x'.repeat(megabyte)}`)) setImmediate(write)
          else response.once('drain', write)
        }
        write()
        return true
      },
      { timeoutMs: 3_000 },
    )
    await add()
    expect(await echo('x')).toMatch(/mcp server web/)
    expect(sent).toBeLessThan(40 * megabyte)
  })

  it('redirects to another host: it is not followed, and the token is not sent there', async () => {
    const other = await startHttp()
    whenDone(other.close)
    const { add } = await open(
      (_, __, response) => !!response.writeHead(307, { location: other.url }).end(),
      { headers: { authorization: 'Bearer s3cr3t-header' } },
    )
    await expect(add()).rejects.toThrow('mcp server web is unavailable')
    expect(other.seen).toEqual([])
  })

  it('receives the configured headers with each request, and no other secret', async () => {
    const { add, echo, server } = await open(undefined, { headers: { 'x-api-key': 'k-123456' } })
    await add()
    await echo('x')
    expect(server.seen.every(({ headers }) => headers['x-api-key'] === 'k-123456')).toBe(true)
    expect(server.seen.every(({ headers }) => headers.cookie === undefined)).toBe(true)
  })

  it('is refused when it is a metadata service, also when it is configured (SEC-156)', async () => {
    const { session } = await openSession([])
    const add = session.addMcp({ name: 'x', url: 'http://169.254.169.254/mcp', startTimeoutMs: 2_000 })
    await expect(add).rejects.toThrow(/refused|unavailable/)
  })
})
