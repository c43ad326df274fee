import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { fetchOnFakeInternet, type Running, serve, serveRaw } from './fake-internet.js'

let running: Running[] = []
afterEach(async () => {
  await Promise.all(running.map((each) => each.close()))
  running = []
})
async function at(server: Promise<Running>): Promise<string> {
  const started = await server
  running.push(started)
  return `http://host.example:${started.port}/`
}
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

describe('SEC-166: answers that are too large', () => {
  it('are cut at the limit when they are endless, and the connection is closed', async () => {
    let closed: () => void = () => undefined
    const hungUp = new Promise<void>((resolve) => {
      closed = resolve
    })
    const url = await at(
      serve((_request, response) => {
        const write = () => {
          while (!response.destroyed && response.write('x'.repeat(10_000)));
        }
        response.on('drain', write)
        response.on('close', closed)
        write()
      }),
    )
    const response = await fetchOnFakeInternet({ maxBytes: 100_000 }).fetch(url)
    expect(response.truncated).toBe(true)
    expect(response.body.length).toBe(100_000)
    await hungUp
  })

  it.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000), { level: 1 })],
    ['deflate', deflateSync(Buffer.alloc(50_000_000), { level: 1 })],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } })],
  ])('with a %s bomb are counted after decompression', async (encoding, bomb) => {
    const url = await at(
      serve((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb)),
    )
    const before = process.memoryUsage().arrayBuffers
    const response = await fetchOnFakeInternet({ maxBytes: 1_000_000 }).fetch(url)
    expect(response).toMatchObject({ truncated: true })
    expect(response.body.length).toBe(1_000_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
  })

  it('with compressed bytes that decode to nothing are limited', async () => {
    const empty = Buffer.concat(Array.from({ length: 2_000 }, () => gzipSync('')))
    const url = await at(
      serve((_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' })
        const write = () => {
          while (!response.destroyed && response.write(empty));
        }
        response.on('drain', write)
        write()
      }),
    )
    const response = await fetchOnFakeInternet({ maxBytes: 1_000 }).fetch(url)
    expect(response.truncated).toBe(true)
    expect(response.body.length).toBe(0)
  })

  it('have limits that a request can lower, not raise', async () => {
    const url = await at(serve((_request, response) => response.end('x'.repeat(1_000))))
    const net = fetchOnFakeInternet({ maxBytes: 500 })
    expect((await net.fetch(url, { maxBytes: 10 })).body.length).toBe(10)
    expect((await net.fetch(url, { maxBytes: 10_000 })).body.length).toBe(500)
  })

  it('with a body of exactly the limit are complete', async () => {
    const url = await at(serve((_request, response) => response.end('x'.repeat(500))))
    const response = await fetchOnFakeInternet({ maxBytes: 500 }).fetch(url)
    expect(response).toMatchObject({ truncated: false })
    expect(response.body.length).toBe(500)
  })

  it.each([
    ['gzip', gzipSync('hello')],
    ['deflate', deflateSync('hello')],
    ['deflate', deflateRawSync('hello')],
    ['br', brotliCompressSync('hello')],
    ['identity', Buffer.from('hello')],
  ])('with valid %s encoding are decoded', async (encoding, body) => {
    const url = await at(
      serve((_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(body)),
    )
    const net = fetchOnFakeInternet()
    const response = await net.fetch(url)
    expect(text(response.body)).toBe('hello')
    expect(response.headers).not.toHaveProperty('content-encoding')
    expect((await net.fetch(url, { method: 'HEAD' })).body.length).toBe(0)
  })
})

describe('SEC-166: answers that are too slow', () => {
  const drip = (head: string) => (socket: import('node:net').Socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(timer))
  }

  it.each([
    ['never answers', () => undefined],
    ['drips its head', drip('HTTP/1.1 200 OK\r\nx-slow: ')],
    ['drips its body', drip('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')],
    [
      'sends informational answers forever',
      (socket: import('node:net').Socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 5)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ])('end in time with a server that %s', async (_what, behave) => {
    const url = await at(serveRaw(behave))
    await expect(fetchOnFakeInternet({ timeoutMs: 200 }).fetch(url)).rejects.toMatchObject({
      code: 'net_timeout',
    })
  })

  it('end in time when name resolution hangs', async () => {
    const net = fetchOnFakeInternet({ timeoutMs: 100, resolver: () => new Promise(() => undefined) })
    await expect(net.fetch('http://hang.example/')).rejects.toMatchObject({ code: 'net_timeout' })
  })

  it('have one time limit for all hops together', async () => {
    const url = await at(
      serve((_request, response) => {
        setTimeout(() => response.writeHead(302, { location: '/' }).end(), 100)
      }),
    )
    await expect(fetchOnFakeInternet({ timeoutMs: 250 }).fetch(url)).rejects.toMatchObject({
      code: 'net_timeout',
    })
  })

  it('stop when the caller aborts, and the connection is closed', async () => {
    let closed: () => void = () => undefined
    let asked: () => void = () => undefined
    const hungUp = new Promise<void>((resolve) => {
      closed = resolve
    })
    const arrived = new Promise<void>((resolve) => {
      asked = resolve
    })
    const url = await at(
      serve((request) => {
        request.on('close', closed)
        asked()
      }),
    )
    const controller = new AbortController()
    const fetching = fetchOnFakeInternet().fetch(url, { signal: controller.signal })
    const outcome = expect(fetching).rejects.toMatchObject({ code: 'net_aborted' })
    await arrived
    controller.abort(new Error('enough'))
    await outcome
    await hungUp
  })

  it('are not requested for a caller that has already aborted', async () => {
    const net = fetchOnFakeInternet()
    const outcome = net.fetch('http://host.example/', { signal: AbortSignal.abort() })
    await expect(outcome).rejects.toMatchObject({ code: 'net_aborted' })
    expect(net.dialled).toEqual([])
  })
})

describe('SEC-166: answers that are broken', () => {
  it.each([
    ['promises more than it sends', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort'],
    ['stops inside a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n64\r\nshort'],
    ['sends no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['sends nothing', ''],
    ['sends huge headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    [
      'switches protocols unasked',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ],
    [
      'sends both lengths',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['sends damaged gzip', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nshort'],
    ['stacks encodings', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\ncontent-length: 5\r\n\r\nshort'],
    [
      'uses an unknown encoding',
      'HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: 5\r\n\r\nshort',
    ],
    ['cuts gzip short', `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08`],
  ])('are an error with a server that %s', async (_what, answer) => {
    const url = await at(serveRaw((socket) => void socket.once('data', () => socket.end(answer, 'latin1'))))
    await expect(fetchOnFakeInternet().fetch(url)).rejects.toMatchObject({ code: 'net_bad_response' })
  })

  it('are an error when the connection is reset inside the body', async () => {
    const url = await at(
      serveRaw((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome', () => socket.resetAndDestroy())
        })
      }),
    )
    await expect(fetchOnFakeInternet().fetch(url)).rejects.toMatchObject({ code: 'net_bad_response' })
  })

  it('ignore bytes after the declared length', async () => {
    const answer =
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nsomeHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nextra'
    const url = await at(serveRaw((socket) => void socket.once('data', () => socket.end(answer))))
    expect(text((await fetchOnFakeInternet().fetch(url)).body)).toBe('some')
  })

  it('report when no server listens', async () => {
    const server = await serve(() => undefined)
    await server.close()
    const outcome = fetchOnFakeInternet().fetch(`http://host.example:${server.port}/`)
    await expect(outcome).rejects.toMatchObject({ code: 'net_unreachable' })
  })
})
