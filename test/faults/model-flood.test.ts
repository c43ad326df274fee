/**
 * A model server that sends without end, or too much at once, ends the run with an error and takes no memory that
 * counts.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { startHost } from '../support/host-process.js'
import { sharedDirectory } from '../support/temporary-directory.js'

/**
 * For each flood: memory in use over what it was before it, and memory of the machine over what the process took before
 * the first one, since what an earlier flood left free would hide what a later one takes.
 */
const maxLiveMb = 100
const maxResidentMb = 200
/** What may be in use after the session of a flood is closed. */
const maxLeftMb = 20

type Flood = {
  /** What comes first, and then again and again until the client has had enough. */
  readonly first?: string
  readonly piece: string | Buffer
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent once instead of forever. */
  readonly once?: boolean
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const delta = (fields: object): string => event({ choices: [{ delta: fields }] })
const call = (index: number, given: object): object => ({ tool_calls: [{ index, ...given }] })
/** More than the 64 MB that a response may have. */
const blanks = Buffer.alloc(80 * 1024 * 1024, 32)
const gzipBomb = gzipSync(blanks, { level: 1 })
const brotliBomb = brotliCompressSync(blanks, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
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
    piece: delta(call(0, { function: { name: 'read', arguments: '}'.repeat(20) } })).repeat(200),
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
  comments: () => ({ piece: `: ${'keep-alive '.repeat(20)}\n\n`.repeat(300) }),
  // With the fields of real ones, of which there are fewer.
  'events that say nothing': () => ({
    piece: event({
      id: 'chatcmpl-0123456789abcdef0123456789abcdef',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'm',
      system_fingerprint: 'fp_0123456789',
      choices: [{ index: 0, delta: { content: '' }, logprobs: null, finish_reason: null }],
    }).repeat(200),
  }),
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

/**
 * A server that answers the paths below `/calm` with an error, and floods every other with the flood whose number it
 * begins with.
 */
async function floodServer(floods: readonly Flood[]): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume()
    const flood = floods[Number(/^\/(\d+)\//.exec(request.url ?? '')?.[1])]
    if (flood === undefined) response.writeHead(400).end('{"error":{"message":"calm"}}')
    else void send(response, flood)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function send(response: ServerResponse, flood: Flood): Promise<void> {
  const { first, status = 200, headers } = flood
  let gone = false
  const closed = once(response, 'close').then(() => {
    gone = true
  })
  response.on('error', () => undefined)
  response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
  if (first !== undefined) response.write(first)
  do {
    if (!response.write(flood.piece))
      await Promise.race([closed, new Promise((resolve) => response.once('drain', resolve))])
    else await new Promise((resolve) => setImmediate(resolve))
  } while (!gone && flood.once !== true)
  response.end()
}

type End = Readonly<Record<string, unknown>>
/** How the run ends. */
function codeFor(name: string): string {
  if (name.startsWith('an error')) return 'model_request_refused'
  return name.startsWith('headers') ? 'model_unreachable' : 'model_answer_too_large'
}

const names = Object.keys(chatFloods)

describe.each<[string, readonly (readonly [api: string, name: string])[]]>([
  // Many in each process: its first flood takes as long as ten others, until the code is compiled.
  ['chat', names.map((name) => ['chat', name] as const)],
  [
    'messages, google and responses',
    ['messages', 'google', 'responses'].flatMap((api) => anyFloods.map((name) => [api, name] as const)),
  ],
])('a server of the api %s that sends too much', (_, cases) => {
  const base = sharedDirectory()
  const ended = new Map<string, End>()

  beforeAll(async () => {
    const floods = cases.flatMap(([, name]) => chatFloods[name]?.() ?? [])
    const server = await floodServer(floods)
    const order = {
      calm: `${server.url}/calm/v1`,
      floods: cases.map(([api], at) => ({ api, url: `${server.url}/${at}/v1` })),
      workspace: base,
      userDir: join(base, 'user'),
    }
    const host = startHost('faults/model-flood-host.mjs', order, ['--expose-gc'])
    try {
      for (const [api, name] of cases) ended.set(`${api} ${name}`, await host.next())
      await host.exited
    } finally {
      host.child.kill('SIGKILL')
      server.close()
    }
  }, 600_000)

  it.each(cases)('%s: %s', (api, name) => {
    const end = ended.get(`${api} ${name}`)
    console.info(
      `${api}, ${name}: ${end?.['code']}, ${end?.['live']} MB in use, ${end?.['resident']} MB resident, ${end?.['left']} MB left, ${end?.['ticks']} ticks`,
    )
    expect(end?.['code'], String(end?.['message'])).toBe(codeFor(name))
    expect(end?.['live']).toBeLessThan(maxLiveMb)
    expect(end?.['resident']).toBeLessThan(maxResidentMb)
    expect(end?.['left']).toBeLessThan(maxLeftMb)
    // Timers ran all the while. The other floods can reach their limit before a timer is due.
    if (api === 'chat' && /^(text in|comments|events that|blanks|a gzip|a brotli)/.test(name))
      expect(end?.['ticks']).toBeGreaterThan(0)
  })
})
