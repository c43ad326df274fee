/** A model server that sends without end, or too much at once, ends the run with an error and takes no memory that counts. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { startHost } from '../support/host-process.js'

const mostGrownMb = 100

type Flood = {
  /** What comes first, and then again and again until the client has had enough. */
  readonly first?: string
  readonly piece: string | Buffer
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent once instead of for ever. */
  readonly once?: boolean
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const delta = (fields: object): string => event({ choices: [{ delta: fields }] })
const call = (index: number, given: object): object => ({ tool_calls: [{ index, ...given }] })
const zeros = Buffer.alloc(256 * 1024 * 1024, 32)
const gzipBomb = gzipSync(zeros)
const brotliBomb = brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })
let index = 0

const chatFloods: Readonly<Record<string, () => Flood>> = {
  'text in single characters': () => ({ piece: delta({ content: 'a' }).repeat(500) }),
  'text in large pieces': () => ({ piece: delta({ content: 'ä'.repeat(30_000) }) }),
  reasoning: () => ({ piece: delta({ reasoning_content: 'b'.repeat(20_000) }) }),
  'text and reasoning in turn': () => ({
    piece: (delta({ content: 'a' }) + delta({ reasoning_content: 'b' })).repeat(200),
  }),
  'arguments of one call': () => ({
    first: delta(call(0, { id: 'c', function: { name: 'read', arguments: '{"a":"' } })),
    piece: delta(call(0, { function: { arguments: 'x'.repeat(500) } })).repeat(20),
  }),
  'the name again with each piece of long arguments': () => ({
    first: delta(call(0, { id: 'c', function: { name: 'read', arguments: `{"a":"${'x'.repeat(500_000)}` } })),
    piece: delta(call(0, { function: { name: 'read', arguments: '}' } })).repeat(200),
  }),
  'tool calls without end': () => ({
    get piece() {
      index++
      return delta(call(index, { id: `c${index}`, function: { name: 'read', arguments: '{}' } }))
    },
  }),
  'tool calls without a name': () => ({
    get piece() {
      index++
      return delta(call(index, { id: `c${index}`, function: { arguments: 'x' } })).repeat(1)
    },
  }),
  'the name of a call without end': () => ({
    piece: delta(call(0, { function: { arguments: 'y'.repeat(5000) } })).repeat(20),
  }),
  comments: () => ({ piece: ': keep-alive\n\n'.repeat(5_000) }),
  'events that say nothing': () => ({ piece: delta({ content: '' }).repeat(500) }),
  'an event that never ends': () => ({ piece: `data: ${'z'.repeat(1000)}\n`.repeat(60) }),
  'a line that never ends': () => ({ first: 'data: ', piece: 'z'.repeat(60_000) }),
  'a JSON body that never ends': () => ({
    first: '{"choices":[{"message":{"content":"',
    piece: 'z'.repeat(60_000),
  }),
  'blanks without end': () => ({ piece: ' \n'.repeat(30_000) }),
  'a gzip bomb': () => ({ piece: gzipBomb, once: true, headers: { 'content-encoding': 'gzip' } }),
  'a brotli bomb': () => ({ piece: brotliBomb, once: true, headers: { 'content-encoding': 'br' } }),
  'an error without end': () => ({ piece: 'no '.repeat(20_000), status: 400 }),
  'an error that is a gzip bomb': () => ({
    piece: gzipBomb,
    once: true,
    status: 400,
    headers: { 'content-encoding': 'gzip' },
  }),
  'headers without end': () => ({
    piece: 'x',
    headers: Object.fromEntries([...Array(40)].map((_, n) => [`x-${n}`, 'y'.repeat(1_000)])),
  }),
}
const anyFloods = ['comments', 'an event that never ends', 'a gzip bomb', 'an error without end'] as const

/** A server that floods every request but the first. */
async function floodServer(flood: Flood): Promise<string> {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume()
    requests++
    if (requests === 1) response.writeHead(400).end('{"error":{"message":"calm"}}')
    else void send(response, flood)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenDone(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

async function send(response: ServerResponse, flood: Flood): Promise<void> {
  const { first, status = 200, headers, once } = flood
  let gone = false
  response.on('close', () => {
    gone = true
  })
  response.on('error', () => undefined)
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
  if (first !== undefined) response.write(first)
  do {
    if (!response.write(flood.piece))
      await new Promise<void>((resolve) => {
        response.once('drain', resolve)
        response.once('close', resolve)
      })
    else await new Promise((resolve) => setImmediate(resolve))
  } while (!gone && once !== true)
  response.end()
}

async function flooded(api: string, flood: Flood): Promise<Record<string, unknown>> {
  const { root, userDir } = await makeWorkspace()
  const url = await floodServer(flood)
  const order = { url, api, workspace: root, userDir }
  const host = startHost('faults/model-flood-host.mjs', order, ['--expose-gc'])
  await host.next()
  const end = await host.next()
  await host.exited
  return end
}

const ends = /^model_(answer_too_large|bad_response|request_refused|unreachable|server_error)$/

describe('a chat server that sends too much', () => {
  it.each(Object.entries(chatFloods))(
    '%s',
    async (name, flood) => {
      const end = await flooded('chat', flood())
      console.info(`${name}: ${end['code']}, ${end['grown']} MB, ${end['ticks']} ticks: ${end['message']}`)
      expect(end['code']).toMatch(ends)
      expect(end['grown']).toBeLessThan(mostGrownMb)
      // Timers ran all the while. Headers that are too long end the request before a timer is due.
      if (name !== 'headers without end') expect(end['ticks']).toBeGreaterThan(0)
    },
    120_000,
  )
})

describe.each(['messages', 'google', 'responses'])('a server of the api "%s" that sends too much', (api) => {
  it.each(anyFloods)(
    '%s',
    async (name) => {
      const flood = chatFloods[name]?.()
      const end = await flooded(api, flood ?? { piece: '' })
      console.info(`${api}, ${name}: ${end['code']}, ${end['grown']} MB: ${end['message']}`)
      expect(end['code']).toMatch(ends)
      expect(end['grown']).toBeLessThan(mostGrownMb)
    },
    120_000,
  )
})
