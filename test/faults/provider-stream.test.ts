/**
 * FT-12: what can go wrong with a stream, seen from a session: 51 cases over real HTTP on loopback, and one recorded
 * stream cut in two at every byte, each with the same result. Nothing hangs for longer than the idle time-out and a
 * second.
 *
 * `FAULT_FACTOR=10` also sends the recorded stream in pieces of every size from 1 to 64 bytes.
 */
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { ofType } from '../contract/open-session.js'
import { factor } from '../support/fault-factor.js'
import {
  callChunk,
  chunk,
  done,
  expectWellFormed,
  modelAt,
  type Outcome,
  ok,
  outcomeOf,
  rawServer,
  said,
  sessionWith,
  sse,
  stop,
  whole,
} from './support.js'

const idleMs = 150

/** A run against one behaviour of the server, and another run afterwards against a good one. */
async function runAgainst(
  behave: (response: ServerResponse) => unknown,
  options: Record<string, unknown> = {},
): Promise<Outcome & { readonly requests: number }> {
  let well = false
  const server = await rawServer((response) => (well ? ok(response, whole('Fine again.')) : behave(response)))
  const { session } = await sessionWith(modelAt(server.url), {
    modelIdleTimeoutMs: idleMs,
    builtinTools: ['todo'],
    ...options,
  })
  const outcome = await outcomeOf(session)
  const requests = server.requests()
  expectWellFormed(session)
  well = true
  expect((await outcomeOf(session)).result?.text).toBe('Fine again.')
  return { ...outcome, requests }
}

async function write(response: ServerResponse, ...parts: readonly (string | Uint8Array)[]): Promise<void> {
  if (!response.headersSent) response.writeHead(200, sse)
  for (const part of parts) await new Promise((resolve) => response.write(part, resolve))
}

const text = 'grün 😀 “x”'

describe('FT-12: a stream that is unusual, but complete', () => {
  it.each<[string, string]>([
    ['line feeds', whole(text)],
    ['carriage returns and line feeds', whole(text).replaceAll('\n', '\r\n')],
    ['carriage returns alone', whole(text).replaceAll('\n', '\r')],
    [
      'mixed line ends',
      `${said('grün ').replaceAll('\n', '\r\n')}${said('😀 “x”')}${stop.replaceAll('\n', '\r')}`,
    ],
    ['a byte order mark', `\ufeff${whole(text)}`],
    ['comments', `: one\n\n: two\n${whole(text)}: three\n\n`],
    [
      'data over several lines',
      `data: {"choices":[{"delta":\ndata: {"content":${JSON.stringify(text)}}}]}\n\n${stop}`,
    ],
    ['unknown event types', `event: weather\ndata: rain\n\nevent: ping\ndata: {}\n\n${whole(text)}`],
    ['unknown fields', `flavour: mint\nid: 7\nretry: 1\n\n${whole(text)}`],
    ['a thousand empty events', `${'data:\n\n'.repeat(1000)}${whole(text)}`],
    ['two final events', `${said(text)}${stop}${stop}${done}${done}`],
    ['words after the final event', `${whole(text)}${said(' and more')}`],
    ['no blank line at the end', `${said(text)}${stop}`.trimEnd()],
    ['no [DONE]', `${said(text)}${stop}`],
    ['choices that are empty', `data: {"choices":[]}\n\n${whole(text)}`],
    ['a choice of another index', `${said(text)}data: {"choices":[]}\n\n${stop}`],
    ['null where content was expected', `${chunk({ content: null })}${chunk(null)}${whole(text)}`],
    [
      'usage that is nonsense',
      `${said(text)}${chunk({}, 'stop', { usage: { prompt_tokens: -1, completion_tokens: 'x' } })}`,
    ],
    ['an unknown reason to finish', `${said(text)}${chunk({}, 'because')}`],
  ])('%s', async (_, body) => {
    const { result } = await runAgainst((response) => ok(response, body))
    expect(result?.text).toBe(text)
  })

  it('compressed', async () => {
    const { result } = await runAgainst((response) =>
      ok(response, gzipSync(whole(text)), { ...sse, 'content-encoding': 'gzip' }),
    )
    expect(result?.text).toBe(text)
  })

  it('never closed by its server', async () => {
    const { result } = await runAgainst((response) => write(response, whole(text)), {
      modelIdleTimeoutMs: 600_000,
    })
    expect(result?.text).toBe(text)
  })
})

describe('FT-12: a stream that breaks', () => {
  const half = said('Half an ans')
  it.each<[string, (response: ServerResponse) => unknown, RegExp, boolean]>([
    ['reset before its first byte', (r) => r.socket?.resetAndDestroy(), /unreachable/, false],
    [
      'reset in the middle of an event',
      (r) => write(r, half, 'data: {"cho').then(() => r.socket?.resetAndDestroy()),
      /unreachable/,
      true,
    ],
    [
      'reset before its first event',
      (r) => write(r, ': hi\n\n').then(() => r.socket?.resetAndDestroy()),
      /unreachable/,
      false,
    ],
    [
      'half-closed in the middle of an event',
      (r) => write(r, half, 'data: {"cho').then(() => r.socket?.end()),
      /unreachable|bad_response/,
      true,
    ],
    [
      'closed in the middle of a character',
      (r) =>
        write(r, half, Buffer.from('data: {"choices":[{"delta":{"content":"😀').subarray(0, -2)).then(() =>
          r.socket?.end(),
        ),
      /unreachable|bad_response/,
      true,
    ],
    ['ended without its final event', (r) => ok(r, half), /bad_response/, true],
    ['ended before it said anything', (r) => ok(r, ': hi\n\n'), /bad_response/, false],
    ['of nothing but [DONE]', (r) => ok(r, done), /bad_response/, false],
    [
      'shorter than its content-length',
      (r) => r.writeHead(200, { ...sse, 'content-length': '5000' }).write(half, () => r.socket?.end()),
      /unreachable/,
      true,
    ],
    [
      'with an error event',
      (r) => ok(r, `${half}event: error\ndata: {"message":"out of luck"}\n\n`),
      /refused|server_error/,
      true,
    ],
    [
      'with an error object',
      (r) => ok(r, `${half}data: {"error":{"message":"Overloaded","code":503}}\n\n`),
      /server_error/,
      true,
    ],
    ['with an event that is not JSON', (r) => ok(r, `${half}data: {"choices":[\n\n`), /bad_response/, true],
    [
      'with a body that is not a gzip',
      (r) => ok(r, 'not gzip', { ...sse, 'content-encoding': 'gzip' }),
      /unreachable|bad_response/,
      false,
    ],
    [
      'with bytes that are not UTF-8 at all',
      (r) => ok(r, Buffer.from([0xff, 0xfe, 0xc0, 0x80])),
      /bad_response/,
      false,
    ],
  ])('%s', async (_, behave, code, emitted) => {
    // The server ends each of them by itself.
    const { error, requests, events } = await runAgainst(behave, { modelIdleTimeoutMs: 60_000 })
    expect(error?.code).toMatch(code)
    // Three attempts at most, each reported; one that had begun its answer starts again.
    expect(requests - 1).toBe(ofType(events, 'model_retry').length)
    expect(ofType(events, 'answer_restarted')).toHaveLength(emitted ? requests - 1 : 0)
    if (emitted) expect(requests).toBe(3)
    expect(requests).toBeLessThanOrEqual(3)
  })
})

describe('FT-12: a stream that does not end', () => {
  const beats: [string, (response: ServerResponse) => unknown][] = [
    ['never sends its head', () => undefined],
    ['sends its head and no byte', (response) => response.writeHead(200, sse).flushHeaders()],
    ['keeps alive with comments', (response) => endless(response, () => ': beat\n\n', 5)],
    ['keeps alive with empty deltas', (response) => endless(response, () => said(''), 5)],
    ['keeps alive with blank lines', (response) => endless(response, () => '\n', 5)],
    [
      'sends one byte at a time and never a whole event',
      (response) => endless(response, (n) => `data: {"choices":${' '.repeat(n)}`.slice(n, n + 1) || ' ', 10),
    ],
  ]
  it.each(beats)('%s: three attempts, each no longer than the idle limit', async (_, behave) => {
    const { error, requests } = await runAgainst(behave)
    expect(error?.code).toBe('model_stalled')
    expect(requests).toBe(3)
  })

  it('sends nothing more after its first text: the answer starts again, three attempts at most', async () => {
    const { error, requests, events } = await runAgainst((response) => write(response, said('And then')))
    expect(error?.code).toBe('model_stalled')
    expect(requests).toBe(3)
    expect(ofType(events, 'answer_restarted')).toHaveLength(2)
  })

  it('never ends: ended by the time limit of the round', async () => {
    const { error } = await runAgainst((response) => endless(response, () => said('x'), 5), {
      roundTimeoutMs: 200,
    })
    expect(error?.code).toBe('round_timeout')
  })

  it('is closed when the run is cancelled', async () => {
    const server = await rawServer((response) => endless(response, () => ': beat\n\n', 5))
    const { session } = await sessionWith(modelAt(server.url), { modelIdleTimeoutMs: 60_000 })
    const sending = outcomeOf(session)
    while (server.requests() === 0) await wait(5)
    expect(session.cancel()).toBe(true)
    expect((await sending).error?.code).toBe('cancelled')
  })
})

describe('FT-12: a stream that is too large', () => {
  it('one event of 50 MB is rejected before it is complete', async () => {
    const piece = 'x'.repeat(1 << 20)
    const before = process.memoryUsage().rss
    const { error } = await runAgainst(
      async (response) => {
        await write(response, 'data: {"choices":[{"delta":{"content":"')
        for (let n = 0; n < 50 && !response.destroyed; n++) await write(response, piece)
        response.end()
      },
      { modelIdleTimeoutMs: 60_000, retry: { maxRetries: 0 } },
    )
    expect(error?.code).toBe('model_answer_too_large')
    expect(error?.message).toContain('characters in one piece')
    expect(process.memoryUsage().rss - before).toBeLessThan(400 << 20)
  })

  it('a gzip bomb of 80 MB is rejected when its first event is too long', async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from('data: '), Buffer.alloc(80 << 20, 'x')]), { level: 1 })
    expect(bomb.length).toBeLessThan(4 << 20)
    const before = process.memoryUsage().rss
    const { error } = await runAgainst(
      (response) => ok(response, bomb, { ...sse, 'content-encoding': 'gzip' }),
      { modelIdleTimeoutMs: 60_000, retry: { maxRetries: 0 } },
    )
    expect(error?.code).toBe('model_answer_too_large')
    expect(error?.message).toContain('characters in one piece')
    expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20)
  })
})

describe('FT-12: calls whose pieces arrive out of order', () => {
  const echo = createJsonTool({
    name: 'echo',
    description: 'Says it again.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    execute: (args: unknown) => (args as { word: string }).word,
  })
  const piece = (index: number, id: string | undefined, name: string | undefined, args: string): string =>
    chunk({
      tool_calls: [
        {
          index,
          ...(id !== undefined && { id }),
          function: { ...(name !== undefined && { name }), arguments: args },
        },
      ],
    })
  it.each<[string, string, string[]]>([
    [
      'interleaved',
      piece(0, 'a', 'echo', '{"word":') +
        piece(1, 'b', 'echo', '{"word":') +
        piece(0, undefined, undefined, '"one"}') +
        piece(1, undefined, undefined, '"two"}'),
      ['one', 'two'],
    ],
    [
      'out of order',
      piece(1, 'b', 'echo', '{"word":"two"}') + piece(0, 'a', 'echo', '{"word":"one"}'),
      ['one', 'two'],
    ],
    [
      'with gaps',
      piece(0, 'a', 'echo', '{"word":"one"}') + piece(7, 'b', 'echo', '{"word":"two"}'),
      ['one', 'two'],
    ],
    [
      'all of index 0',
      piece(0, 'a', 'echo', '{"word":"one"}') + piece(0, 'b', 'echo', '{"word":"two"}'),
      ['one', 'two'],
    ],
    [
      'twice the same piece with its id',
      piece(0, 'a', 'echo', '') + piece(0, 'a', undefined, '{"word":"one"}'),
      ['one'],
    ],
  ])('%s', async (_, body, words) => {
    let well = false
    const server = await rawServer((response, number) => {
      if (number > 1) well = true
      ok(response, well ? whole('Done.') : `${body}${chunk({}, 'tool_calls')}${done}`)
    })
    const { session } = await sessionWith(modelAt(server.url), {
      builtinTools: false,
      tools: [echo],
      permissionPolicy: { allow: ['echo'] },
    })
    const { result, events } = await outcomeOf(session)
    expect(result?.text).toBe('Done.')
    expect(
      ofType(events, 'tool_end')
        .map(({ toolOutput }) => toolOutput)
        .sort(),
    ).toEqual(words)
    expectWellFormed(session)
  })
})

describe('FT-12: a recorded stream', () => {
  const recorded = Buffer.from(
    `: hello\n\n${chunk({ role: 'assistant', content: '' })}${chunk({ reasoning_content: 'Hm, größer.' })}${said('grün 😀')}` +
      `${callChunk('todo', '')}${chunk({ tool_calls: [{ index: 0, function: { arguments: '{"todos":[{"content":"ж' } }] })}` +
      `${chunk({ tool_calls: [{ index: 0, function: { arguments: '…","status":"pending"}]}' } }] })}` +
      `${chunk({}, 'tool_calls', { usage: { prompt_tokens: 5, completion_tokens: 7 } })}`.replaceAll(
        '\n',
        '\r\n',
      ) +
      done,
  )

  /** One session for all of them; what a run came to, without what differs from run to run. */
  async function played(
    parts: (bytes: Buffer) => Buffer[][],
  ): Promise<{ count: number; results: Set<string> }> {
    const splits = parts(recorded)
    let next: Buffer[] = []
    const server = await rawServer(async (response, number) => {
      if (number % 2 === 0) return ok(response, whole('Done.'))
      response.writeHead(200, sse)
      response.socket?.setNoDelay(true)
      for (const part of next) {
        await new Promise((resolve) => response.write(part, resolve))
        await new Promise((resolve) => setImmediate(resolve))
      }
      return response.end()
    })
    const { session } = await sessionWith(modelAt(server.url), {
      builtinTools: ['todo'],
      retentionLimits: { maxRuns: 1 },
    })
    const results = new Set<string>()
    for (const split of splits) {
      next = split
      const { result, thrown } = await outcomeOf(session)
      const [, answer] = session.history()
      results.add(
        JSON.stringify([
          result?.text,
          result?.usage,
          answer,
          session.todos(),
          thrown instanceof Error ? thrown.message : thrown,
        ]),
      )
      await session.send('/clear')
    }
    return { count: splits.length, results }
  }

  it('is the same for any split into two parts', async () => {
    // Every third byte is inside each character of four bytes.
    const step = factor > 1 ? 1 : 3
    const { count, results } = await played((bytes) =>
      Array.from({ length: Math.floor((bytes.length - 1) / step) }, (_, at) => [
        bytes.subarray(0, at * step + 1),
        bytes.subarray(at * step + 1),
      ]),
    )
    console.info(`FT-12: ${count} splits, ${results.size} result(s)`)
    expect([...results]).toHaveLength(1)
    expect([...results][0]).toContain('grün 😀')
    expect([...results][0]).toContain('ж…')
  })

  it('is the same in pieces of any size', async () => {
    const sizes = factor > 1 ? Array.from({ length: 64 }, (_, at) => at + 1) : [1, 2, 3, 7, 64]
    const { results } = await played((bytes) =>
      sizes.map((size) =>
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        ),
      ),
    )
    expect([...results]).toHaveLength(1)
  })
})

function endless(response: ServerResponse, piece: (n: number) => string, everyMs: number): void {
  response.writeHead(200, sse)
  let n = 0
  const timer = setInterval(() => response.write(piece(n++)), everyMs)
  response.on('close', () => clearInterval(timer))
}
