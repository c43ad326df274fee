import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { readQueueConfig } from '../../src/queue/config.js'
import { LaneQueue } from '../../src/queue/lane-queue.js'
import { LocalEngine } from '../../src/queue/local-engine.js'
import { type ServeQueueOptions, serveHttp } from '../../src/queue/serve/http.js'
import { serveStream } from '../../src/queue/serve/stream.js'
import { type QueueWorkerOptions, workOnQueue } from '../../src/queue/worker/work-on-queue.js'
import type { Envelope } from '../../src/tool/envelope.js'
import type { JsonObject } from '../../src/tool/json.js'

const token = 'a-token-for-this-test-alone'
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function openQueue(more: object = {}) {
  const settings = readQueueConfig({
    executeConcurrency: 20,
    laneHandlers: { execute: { mode: 'external', timeoutMs: 60_000 } },
    retryPolicy: { initialDelayMs: 1 },
    ...more,
  })
  let leases = 0
  const engine = new LocalEngine(settings, () => `lease-${++leases}`)
  const queue = new LaneQueue({ sessionId: 's', settings, engine, emit: () => undefined, now: () => 0 })
  ends.push(() => queue.close())
  const pass = (toolName: string, args: object, idempotent = true): Promise<Envelope> =>
    queue.pass(
      { toolName, args: JSON.stringify(args), lane: 'execute', idempotent, starting: () => undefined },
      () => Promise.reject(new Error('it must not run here')),
    )
  return { queue, board: engine.board, pass }
}

async function openDoor(options: Partial<ServeQueueOptions> = {}, more: object = {}) {
  const opened = openQueue(more)
  const door = await serveHttp(opened.board, { token, ...options })
  ends.push(() => door.close())
  const ask = (method: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${door.url}/v1/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      body,
    })
  return { ...opened, door, ask }
}

function startWorker(options: QueueWorkerOptions): void {
  const stop = new AbortController()
  const ended = workOnQueue({ ...options, signal: stop.signal })
  ends.push(async () => {
    stop.abort()
    await ended
  })
}

describe('the worker endpoint', () => {
  it('rejects connections without the token, and browsers', async () => {
    const { door, ask } = await openDoor()
    const claim = '{"worker":"w"}'
    const statuses = [
      (await fetch(`${door.url}/v1/claim`, { method: 'POST', body: claim })).status,
      (await ask('claim', claim, { authorization: `Bearer ${token}x` })).status,
      (await ask('claim', claim, { authorization: `Basic ${token}` })).status,
      (await ask('claim', claim, { origin: 'http://127.0.0.1' })).status,
      (await ask('claim', claim)).status,
    ]
    expect(statuses).toEqual([401, 401, 401, 403, 200])
    expect(door.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  it('does not listen for other machines, or with a weak token, unless it is configured', async () => {
    const { board } = openQueue()
    await expect(serveHttp(board, { token: 'short' })).rejects.toThrow('at least 16 characters')
    await expect(serveHttp(board, { token, host: '0.0.0.0' })).rejects.toThrow('allowRemote: true')
  })

  it.each([
    ['claim', '{', 400],
    ['claim', '[]', 400],
    ['claim', '{}', 400],
    ['claim', '{"worker":"w","lanes":["main"]}', 400],
    ['claim', '{"worker":"w","max":-1}', 400],
    ['complete', '{"taskId":"a","leaseId":"b"}', 400],
    ['heartbeat', '{"leases":{}}', 400],
    ['destroy', '{}', 400],
    ['complete', `{"taskId":"a","leaseId":"b","success":true,"result":"${'x'.repeat(3_000)}"}`, 413],
  ])('rejects an invalid request: %s %.40s', async (method, body, status) => {
    const { ask } = await openDoor({ maxBodyBytes: 2_000 })
    const response = await ask(method, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: expect.any(String) })
  })

  it('gives no task to a worker whose connection is closed', async () => {
    const { ask, pass, door } = await openDoor()
    const gone = new AbortController()
    const waiting = fetch(`${door.url}/v1/claim`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{"worker":"w1","waitMs":20000}',
      signal: gone.signal,
    }).catch(() => 'gone')
    // The second claim is answered after the first one waits.
    await ask('claim', '{"worker":"w2","waitMs":50}')
    gone.abort()
    expect(await waiting).toBe('gone')
    await ask('claim', '{"worker":"w2","waitMs":50}')
    const ended = pass('weigh', {})
    const { tasks } = await (await ask('claim', '{"worker":"w2","waitMs":10000}')).json()
    expect(tasks).toHaveLength(1)
    const [{ taskId, leaseId }] = tasks
    await ask('complete', JSON.stringify({ taskId, leaseId, success: true, result: 1 }))
    expect(await ended).toMatchObject({ data: 1 })
  })
})

describe('a worker', () => {
  const handlers = {
    weigh: ({ grams }: JsonObject) => ({ output: `${Number(grams) / 1000} kg` }),
    fail: () => {
      throw new Error('the scale is broken')
    },
  }

  it('runs tasks over HTTP, several at once, and reports failures', async () => {
    const { door, pass } = await openDoor({}, { retryPolicy: { strategy: 'none' } })
    startWorker({ url: door.url, token, concurrency: 3, handlers })
    const weighed = await Promise.all(
      Array.from({ length: 12 }, (_, at) => pass('weigh', { grams: at * 500 })),
    )
    expect(weighed.map((one) => (one.type === 'output' ? one.data : one.error_text))).toEqual(
      Array.from({ length: 12 }, (_, at) => `${at * 0.5} kg`),
    )
    expect(await pass('fail', {})).toMatchObject({
      error_text: 'Tool "fail" failed on a worker: the scale is broken',
    })
  })

  it('keeps its task while it works longer than a lease, and is notified when it loses it', async () => {
    const { door, pass, queue } = await openDoor({}, { leaseMs: 800 })
    let hear: (value: string) => void = () => undefined
    const heard = new Promise<string>((resolve) => {
      hear = resolve
    })
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    startWorker({
      url: door.url,
      token,
      handlers: {
        long: () => new Promise((resolve) => setTimeout(resolve, 1_700, 'slowly')),
        never: (_, { signal }) =>
          new Promise((resolve) => {
            begin()
            signal.addEventListener('abort', () => {
              hear('heard')
              resolve('too late')
            })
          }),
      },
    })
    expect(await pass('long', {}, false)).toMatchObject({ data: 'slowly' })
    const ended = pass('never', {}, false)
    await begun
    // The host itself says how it ended; the worker's own result is not taken after that.
    expect(await queue.complete('s-2', { success: true, result: 'the host knows' })).toBe(true)
    expect(await ended).toMatchObject({ data: 'the host knows' })
    expect(await heard).toBe('heard')
  })

  it('stops permanently when it is rejected', async () => {
    const { door } = await openDoor()
    await expect(workOnQueue({ url: door.url, token: 'wrong', handlers })).rejects.toThrow(
      "The queue refused 'claim': The bearer token is missing or wrong.",
    )
  })

  it('works over streams, and its tasks go to another worker when they end', async () => {
    const { board, pass } = openQueue()
    const connect = (name: string): { input: PassThrough; output: PassThrough } => {
      const [up, down] = [new PassThrough(), new PassThrough()]
      ends.push(serveStream(board, { input: up, output: down }, name))
      return { input: down, output: up }
    }
    const first = connect('first')
    const stuck = new Promise<void>((began) => {
      const handler = (): Promise<never> => {
        began()
        return new Promise(() => undefined)
      }
      void workOnQueue({ ...first, handlers: { weigh: handler } })
    })
    const ended = pass('weigh', { grams: 250 })
    await stuck
    startWorker({ ...connect('second'), handlers })
    first.output.end()
    expect(await ended).toMatchObject({ data: '0.25 kg' })
  })

  it('receives an error for a wrong message, and continues', async () => {
    const { board, pass } = openQueue()
    const [up, down] = [new PassThrough(), new PassThrough()]
    ends.push(serveStream(board, { input: up, output: down }, 'w'))
    const answers: string[] = []
    down.on('data', (chunk: Buffer) => answers.push(...chunk.toString().trim().split('\n')))
    up.write('garbage\n[]\n{"id":1,"method":"destroy","params":{}}\n')
    const ended = pass('weigh', {})
    up.write('{"id":2,"method":"claim","params":{"waitMs":5000}}\n')
    while (answers.length < 4) await new Promise((resolve) => down.once('data', resolve))
    const [taken] = answers.slice(3).map((line) => JSON.parse(line))
    expect(answers.slice(0, 3).every((line) => line.includes('"error"'))).toBe(true)
    const { taskId, leaseId } = taken.result.tasks[0]
    const params = { taskId, leaseId, success: true, result: 'fine' }
    up.write(`${JSON.stringify({ id: 3, method: 'complete', params })}\n`)
    expect(await ended).toMatchObject({ data: 'fine' })
  })
})
