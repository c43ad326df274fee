import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import type { Invocation } from '../../tool/session-services.js'
import type { ProgramHost } from './host.js'
import { createProgramMachine, type Program } from './machine.js'

const machine = createProgramMachine()
afterAll(() => machine.close())
let busy: Promise<void>
beforeAll(() => {
  busy = runOnBusyMachine()
  busy.catch(() => undefined)
})

type Answer = (args: Record<string, unknown>, signal: AbortSignal) => unknown

/** A host whose tools are functions; what a function returns is the tool's output. */
function hostOf(tools: Readonly<Record<string, Answer>>): ProgramHost & { readonly asked: Invocation[] } {
  const asked: Invocation[] = []
  return {
    asked,
    async call(invocation, { signal }): Promise<Envelope> {
      asked.push(invocation)
      const tool = tools[invocation.tool]
      if (tool === undefined) return errorEnvelope(`Unknown tool "${invocation.tool}".`)
      const given = await tool(invocation.args as Record<string, unknown>, signal)
      return typeof given === 'object' && given !== null && 'type' in given
        ? (given as Envelope)
        : outputEnvelope(given)
    },
  }
}

const run = (source: string, rest: Partial<Program> = {}) =>
  machine.run({ source, host: hostOf({}), startedAt: 1_700_000_000_000, ...rest })

/** The result of a program that must end well. */
async function value(source: string, rest: Partial<Program> = {}): Promise<unknown> {
  const outcome = await run(source, rest)
  if (!outcome.ok) throw new Error(outcome.message)
  return outcome.result
}

/** The message of a program that must fail. */
async function failure(source: string, rest: Partial<Program> = {}) {
  const outcome = await run(source, rest)
  if (outcome.ok) throw new Error(`it ended well: ${JSON.stringify(outcome.result)}`)
  return outcome
}

describe('a program', () => {
  it.each([
    ['an exported default function', 'export default async function run(ctx, inputs) { return inputs.a }'],
    ['an exported default function without a name', 'export default async (ctx, inputs) => inputs.a'],
    ['a plain function', 'async function run(ctx, inputs) { return inputs.a }'],
    ['a constant', 'const run = async (ctx, { a }) => a // the end'],
    ['an exported function', 'export function run(ctx, { a }) { return a }'],
    ['a function exported last', 'function main(ctx, { a }) { return a }\nexport { main as default }'],
  ])('can be %s', async (_, source) => {
    expect(await value(source, { inputs: { a: [1, 'two', null] } })).toEqual([1, 'two', null])
  })

  it('must define run', async () => {
    expect(await failure('const x = 1')).toMatchObject({
      code: 'program_run_missing',
      message: 'PTC script must define async function run(ctx, inputs)',
    })
  })

  it('cannot import, and can contain the word import', async () => {
    const refused = 'imports are not allowed inside PTC scripts'
    expect((await failure(`import fs from 'fs'\nexport default () => 1`)).message).toContain(refused)
    expect((await failure(`export { a } from './a.js'\nexport default () => 1`)).message).toContain(refused)
    expect((await failure(`export default async () => import('node:fs')`)).message).toContain(refused)
    expect(await value(`// import x from 'y'\nexport default () => 'import (fs) eval( fetch('`)).toBe(
      'import (fs) eval( fetch(',
    )
  })

  it('fails with the lines of its own source', async () => {
    const thrown = await failure(
      'function deep() {\n  throw new TypeError("not this")\n}\nexport default async function run() {\n  deep()\n}',
      { fileName: 'scripts/find.js' },
    )
    expect(thrown.code).toBe('program_failed')
    expect(thrown.message).toMatch(
      /^program script error:\nTypeError: not this\n\s+at deep \(scripts\/find\.js:2:\d+\)\n\s+at run \(scripts\/find\.js:5:\d+\)/,
    )
    expect(thrown.message).not.toContain('<ctx>')
    const refused = await failure('export default async function run(ctx) {\n\n  await ctx.grep("x")\n}')
    expect(refused.message).toMatch(/Unknown tool "grep"\.\n\s+at run \(program\.js:3:\d+\)/)
    const unread = await failure('export default async () => {\n  const a = ;\n}')
    expect(unread).toMatchObject({ code: 'program_source_invalid' })
    expect(unread.message).toMatch(/SyntaxError: .*\n\s+at program\.js:2:\d+/)
    expect((await failure('export default () => { throw "words" }')).message).toContain('thrown: words')
  })

  it('returns JSON, or gets an error that says why not', async () => {
    expect(await value('export default () => {}')).toBeNull()
    expect(await value('export default () => ({ a: undefined, b: new Date(0) })')).toEqual({
      b: '1970-01-01T00:00:00.000Z',
    })
    expect(await failure('export default () => { const a = {}; a.a = a; return a }')).toMatchObject({
      code: 'program_result_invalid',
      message: expect.stringContaining('circular'),
    })
    expect((await failure('export default () => 10n')).code).toBe('program_result_invalid')
    const long = await failure('export default () => "x".repeat(65535)')
    expect(long.code).toBe('program_result_invalid')
    expect(long.message).toContain('maxOutputBytes=65536')
    const limits = { maxOutputBytes: 100 }
    expect(await value('export default () => "x".repeat(98)', { limits })).toBe('x'.repeat(98))
    expect((await failure('export default () => "é".repeat(50)', { limits })).message).toContain(
      'maxOutputBytes=100',
    )
    expect(
      await value('export default () => "x".repeat(2e6)', { limits: { maxOutputBytes: 3e6 } }),
    ).toHaveLength(2e6)
  })

  it('fails at once when it waits for a promise that nothing settles', async () => {
    expect((await failure('export default () => new Promise(() => {})')).code).toBe('program_stalled')
  })

  it('has a console, up to a limit', async () => {
    const outcome = await run(`export default () => {
      console.log('a', 1, { b: [2] }, undefined, 2n, NaN)
      console.error(new Error('bad'))
      for (let i = 0; i < 5000; i++) console.warn('x'.repeat(100))
    }`)
    expect(outcome.console.slice(0, 2)).toEqual([
      { level: 'log', text: 'a 1 {"b":[2]} undefined 2 NaN' },
      { level: 'error', text: 'Error: bad' },
    ])
    expect(outcome.console.length).toBeLessThan(1_002)
    expect(outcome.console.at(-1)?.text).toContain('[console output cut here]')
  })

  it('has a clock and random numbers that depend on its start, and can sleep', async () => {
    const source = `export default async () => {
      const before = Date.now()
      await sleep(30)
      return [before - 1700000000000 < 600_000, Date.now() - before >= 25, Math.random(), typeof setTimeout]
    }`
    const first = (await value(source)) as unknown[]
    expect(first.slice(0, 2)).toEqual([true, true])
    expect(first[3]).toBe('undefined')
    expect(await value(source)).toEqual(first)
    expect(await value(source, { startedAt: 1_700_000_000_001 })).not.toEqual(first)
    expect((await failure('export default () => sleep("soon")')).message).toContain(
      'sleep(ms) takes a number',
    )
  })

  it('is rejected when a limit, the source or the inputs are invalid', async () => {
    await expect(run('', { limits: { timeoutMs: 600_001 } })).rejects.toThrow(/timeoutMs .* 1 to 600000/)
    await expect(run('', { limits: { maxToolCalls: -1 } })).rejects.toThrow(/maxToolCalls .* 0 to 1000/)
    await expect(run('', { limits: { maxOutputBytes: 0.5 } })).rejects.toThrow(/maxOutputBytes/)
    await expect(run('', { limits: { memory: 1 } as object })).rejects.toThrow(/no limit "memory"/)
    await expect(run(' '.repeat(192 * 1024 + 1))).rejects.toThrow(/196609 bytes; at most 196608/)
    await expect(run('', { inputs: 1n })).rejects.toThrow(/must be JSON/)
    await expect(run('', { inputs: 'x'.repeat(1024 * 1024) })).rejects.toThrow(/more than 1048576 bytes/)
  })
})

describe('ctx', () => {
  it('calls tools and returns their results, failed ones too', async () => {
    const host = hostOf({
      add: ({ a, b }) => Number(a) + Number(b),
      fail: () => errorEnvelope('it is broken', { exit_code: 7 }),
    })
    const outcome = await run(
      `export default async (ctx) => {
        const sum = await ctx.tool('add', { a: 1, b: 2 })
        const bad = await ctx.tools.fail()
        const none = await ctx.tool('none', {})
        return [sum, bad.output, bad.exitCode, 'text' in bad, none.exitCode]
      }`,
      { host },
    )
    expect(outcome).toMatchObject({
      ok: true,
      result: [
        { name: 'add', output: '3', text: '3', exitCode: 0, metadata: { duration_ms: 0 } },
        'it is broken',
        7,
        false,
        1,
      ],
    })
    expect(outcome.calls).toEqual([
      { tool_name: 'add', success: true, exit_code: 0, output_bytes: 1, metadata: { duration_ms: 0 } },
      {
        tool_name: 'fail',
        success: false,
        exit_code: 7,
        output_bytes: 12,
        metadata: { duration_ms: 0, exit_code: 7 },
      },
      { tool_name: 'none', success: false, exit_code: 1, output_bytes: 20, metadata: { duration_ms: 0 } },
    ])
  })

  it('has a helper for each common tool', async () => {
    const host = hostOf({
      read: ({ file_path, start_byte }) =>
        start_byte === undefined ? `1\t${file_path}` : `raw ${file_path}`,
      grep: (args) => JSON.stringify(args),
      glob: () => ['a.ts', 'b c.ts'],
      ls: ({ path }) => `in ${path}`,
      bash: ({ command }) => `ran ${command}`,
      git: (args) => JSON.stringify(args),
      web_search: (args) => JSON.stringify(args),
    })
    const source = `export default async (ctx) => [
      await ctx.readFile('a'), (await ctx.read('a')).output, await ctx.grep('q', { glob: '*.rs' }),
      await ctx.glob('**'), await ctx.ls(), await ctx.bash('true'), (await ctx.git('status')).output,
      (await ctx.git({ command: 'log', max_count: 2 })).output, (await ctx.webSearch({ query: 'q', limit: 3 })).output,
      await ctx.verify(['x']).catch((error) => error.message),
    ]`
    expect(await value(source, { host })).toEqual([
      'raw a',
      '1\ta',
      '{"glob":"*.rs","pattern":"q"}',
      ['a.ts', 'b c.ts'],
      'in .',
      'ran true',
      '{"command":"status"}',
      '{"command":"log","max_count":2}',
      '{"query":"q","max_results":3}',
      expect.stringContaining('provides no verification'),
    ])
    const verifying: ProgramHost = {
      ...host,
      verify: async (asked) => outputEnvelope(asked),
    }
    expect(
      await value(`export default (ctx) => ctx.verify('release', [{ command: 'x' }])`, { host: verifying }),
    ).toEqual({ subject: 'release', commands: [{ command: 'x' }] })
  })

  it('throws from the helpers that return text or paths', async () => {
    const host = hostOf({ read: () => errorEnvelope('No such file: gone') })
    const source = `export default async (ctx) => {
      const said = []
      for (const one of [() => ctx.readFile('gone'), () => ctx.glob('*'), () => ctx.bash('x')])
        await one().catch((error) => said.push(error instanceof Error && error.message))
      return said
    }`
    expect(await value(source, { host })).toEqual([
      'No such file: gone',
      'Unknown tool "glob".',
      'Unknown tool "bash".',
    ])
  })

  it('runs calls at the same time', async () => {
    let open = 0
    let most = 0
    let release: () => void = () => undefined
    const all = new Promise<void>((resolve) => {
      release = resolve
    })
    const host = hostOf({
      wait: async () => {
        most = Math.max(most, ++open)
        if (open === 10) release()
        await all
        return 'done'
      },
    })
    const source = `export default async (ctx) =>
      (await Promise.all(Array.from({ length: 10 }, () => ctx.tools.wait()))).map(({ output }) => output).join()`
    expect(await value(source, { host })).toBe(Array(10).fill('done').join())
    expect(most).toBe(10)
  })

  it('returns the first answer as soon as it arrives', async () => {
    let release: () => void = () => undefined
    const later = new Promise<void>((resolve) => {
      release = resolve
    })
    const host = hostOf({
      slow: async () => later,
      quick: () => 'quick',
      go: () => {
        release()
        return ''
      },
    })
    const source = `export default async (ctx) => {
      const slow = ctx.tools.slow()
      const first = await Promise.race([slow, ctx.tools.quick()])
      await ctx.tools.go()
      await slow
      return first.output
    }`
    expect(await value(source, { host })).toBe('quick')
  })

  it('calls only allowed tools, also inside a batch', async () => {
    const host = hostOf({ read: () => 'text', bash: () => 'ran', batch: () => 'all' })
    const source = `export default async (ctx) => {
      const said = []
      const inside = { invocations: [{ tool: 'read' }, { tool: 'bash' }] }
      for (const one of [() => ctx.bash('x'), () => ctx.tool('program', {}), () => ctx.tools.batch(inside)])
        await one().catch((error) => said.push(error.message))
      return [...said, (await ctx.read('a')).output]
    }`
    const allows = (tool: string) => tool === 'read' || tool === 'batch'
    const outcome = await run(source, { host, allows })
    expect(outcome).toMatchObject({
      ok: true,
      result: [
        "tool 'bash' is not allowed for this PTC script",
        "tool 'program' is not allowed for this PTC script",
        "tool 'bash' is not allowed for this PTC script",
        'text',
      ],
    })
    expect(outcome.calls.map(({ tool_name, success }) => [tool_name, success])).toEqual([
      ['bash', false],
      ['program', false],
      ['batch', false],
      ['read', true],
    ])
    expect(host.asked.map(({ tool }) => tool)).toEqual(['read'])
  })

  it('counts every call: failed, denied, concurrent and unawaited', async () => {
    const host = hostOf({ ok: () => 'x', bad: () => errorEnvelope('no') })
    const source = `export default async (ctx) => {
      await ctx.tools.bad()
      await ctx.tools.forbidden().catch(() => 0)
      const many = await Promise.allSettled(Array.from({ length: 1000 }, () => ctx.tools.ok()))
      const refused = many.filter(({ status }) => status === 'rejected')
      return [refused.length, refused[0].reason.message]
    }`
    const outcome = await run(source, {
      host,
      limits: { maxToolCalls: 5 },
      allows: (tool) => tool !== 'forbidden',
    })
    expect(outcome).toMatchObject({ ok: true, result: [997, 'PTC script exceeded maxToolCalls=5'] })
    expect(outcome.calls).toHaveLength(5)
    expect(host.asked).toHaveLength(4)
  })

  it('cuts the output of a tool that is longer than the limit, and says so', async () => {
    const host = hostOf({
      glob: () => Array.from({ length: 1000 }, (_, at) => `file-${at}.ts`),
      bash: () => 'é'.repeat(600),
    })
    const source = `export default async (ctx) => {
      const files = await ctx.glob('*')
      const text = await ctx.bash('x')
      return [files.length, files.truncated, text.length, text.slice(-60)]
    }`
    const outcome = await run(source, { host, limits: { maxOutputBytes: 999 } })
    expect(outcome).toMatchObject({
      ok: true,
      result: [
        expect.any(Number),
        true,
        expect.any(Number),
        expect.stringContaining('é\n[cut: the first 999 of 1200 bytes (maxOutputBytes)]'),
      ],
    })
    expect(outcome.calls.map(({ truncated }) => truncated)).toEqual([true, true])
  })

  it('returns all of a file or throws', async () => {
    const host = hostOf({ read: () => 'é'.repeat(100) })
    const source = `export default (ctx) => ctx.readFile('a').then(({ length }) => length, ({ message }) => message)`
    expect(await value(source, { host, limits: { maxOutputBytes: 200 } })).toBe(100)
    const outcome = await run(source, { host, limits: { maxOutputBytes: 199 } })
    expect(outcome).toMatchObject({
      ok: true,
      result: expect.stringMatching(/"a" is longer than maxOutputBytes=199 bytes/),
      calls: [{ tool_name: 'read', success: false, exit_code: 1 }],
    })
  })

  it('cancels calls that still run when the program ends, and waits for them', async () => {
    const ended: string[] = []
    const host = hostOf({
      slow: (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            ended.push('stopped')
            resolve(errorEnvelope('was stopped'))
          })
        }),
    })
    const outcome = await run('export default (ctx) => { ctx.tools.slow(); return 1 }', { host })
    expect(outcome).toMatchObject({ ok: true, result: 1, calls: [{ tool_name: 'slow', success: false }] })
    expect(ended).toEqual(['stopped'])
  })
})

describe('the machine', () => {
  it('does not block the main thread while a script is busy', async () => {
    let ticks = 0
    const timer = setInterval(() => ticks++, 10)
    const begin = async () => {
      ticks = 0
    }
    const source = 'export default async (ctx) => { await ctx.tools.begin(); for (;;); }'
    await failure(source, { host: hostOf({ begin }), limits: { timeoutMs: 1_000 } })
    clearInterval(timer)
    // None while it is blocked, and one right after it. How many there are else depends on the machine.
    expect(ticks).toBeGreaterThan(1)
  })

  it.each([
    ['a loop', 'export default () => { for (;;); }'],
    ['a loop at the top', 'for (;;);\nexport default () => 1'],
    [
      'a loop that catches',
      'export default () => { for (;;) try { for (;;); } catch {} finally { for (;;); } }',
    ],
    [
      'a loop of promises',
      'export default () => new Promise(() => { const r = () => Promise.resolve().then(r); r() })',
    ],
    ['a native function without an end', `export default () => new Array(1e9) + ''`],
    ['a sleep', 'export default () => sleep(1e9)'],
    ['a call that does not answer', 'export default (ctx) => ctx.tools.hang()'],
  ])('ends %s on time', async (_, source) => {
    const host = hostOf({
      hang: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
    })
    const outcome = await failure(source, { host, limits: { timeoutMs: 200 } })
    expect(outcome).toMatchObject({
      code: 'program_timeout',
      message: 'program script timed out after 200 ms',
    })
  })

  it.each([0, 1, 5, 20, 60])('frees everything when it is aborted after %i ms', async (ms) => {
    const controller = new AbortController()
    const stopped = new Promise<void>((resolve) => {
      setTimeout(() => {
        controller.abort()
        resolve()
      }, ms)
    })
    const outcome = await run(
      'export default async (ctx) => { await ctx.tools.hang().catch(() => 0); for (;;); }',
      {
        signal: controller.signal,
        host: hostOf({
          hang: (_, signal) =>
            new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
        }),
      },
    ).catch((error: Error) => ({ ok: false, message: error.message }))
    await stopped
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining('aborted') })
    expect(await value('export default () => 1')).toBe(1)
  })

  it('returns the result when there is one, whatever still runs after it', async () => {
    const source = 'export default () => { (async () => { for (;;) await null })(); return 1 }'
    expect(await value(source, { limits: { timeoutMs: 20_000 } })).toBe(1)
    const late = 'export default (ctx) => { sleep(5).then(() => ctx.tools.x()); sleep(1e6); return 2 }'
    expect(await run(late)).toMatchObject({ ok: true, result: 2, calls: [] })
  })

  it('isolates programs from each other', async () => {
    const poison = `globalThis.mark = 1; Object.prototype.mark = 1; Array.prototype.map = () => 'poisoned'
      JSON.stringify = () => '"poisoned"'; Promise.prototype.then = null
      export default () => 1`
    await Promise.all(Array.from({ length: 4 }, () => run(poison)))
    const seen = await Promise.all(
      Array.from({ length: 6 }, (_, own) =>
        value(`export default (ctx, inputs) => [typeof mark, ({}).mark, [1].map(String), inputs]`, {
          inputs: own,
        }),
      ),
    )
    expect(seen).toEqual(Array.from({ length: 6 }, (_, own) => ['undefined', null, ['1'], own]))
  })

  it('reports that it is busy instead of waiting forever, and works again afterwards', () => busy)

  it('ends its programs when it is closed, and accepts no more', async () => {
    const own = createProgramMachine({ maxThreads: 1 })
    let started: () => void = () => undefined
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const given = { host: hostOf({ go: () => started() }), startedAt: 0 }
    const busy = own.run({
      ...given,
      source: 'export default async (ctx) => { await ctx.tools.go(); for (;;); }',
    })
    const waiting = own.run({ ...given, source: 'export default () => 1' })
    const refused = waiting.catch((error: Error) => error.message)
    await running
    await own.close()
    expect(await busy).toMatchObject({ ok: false, code: 'program_aborted' })
    expect(await refused).toContain('was not run')
    await expect(own.run({ ...given, source: '' })).rejects.toMatchObject({ code: 'program_closed' })
  })
})

/**
 * What a machine does whose only thread is in use. It waits for four seconds, so it starts before the first test. A
 * program that waits for a thread must get it sooner than that, also on a busy machine.
 */
async function runOnBusyMachine(): Promise<void> {
  const own = createProgramMachine({ maxThreads: 1, maxWaitMs: 4_000 })
  let answer: () => void = () => undefined
  const thinking = new Promise<void>((resolve) => {
    answer = resolve
  })
  let asked: () => void = () => undefined
  const asks = new Promise<void>((resolve) => {
    asked = resolve
  })
  const host: ProgramHost = {
    async call(_, { watch }) {
      watch.waiting(true)
      asked()
      await thinking
      return outputEnvelope('yes')
    },
  }
  const asking = own.run({ host, startedAt: 0, source: 'export default (ctx) => ctx.bash("x")' })
  await asks
  const source = 'export default () => 1'
  // Not `expect(…).rejects`: the first test would wait for it.
  const refusal: unknown = await own.run({ host, startedAt: 0, source }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    code: 'program_busy',
    message: expect.stringContaining('1 of 1 in use'),
  })
  const next = own.run({ host, startedAt: 0, source })
  answer()
  expect(await asking).toMatchObject({ ok: true, result: 'yes' })
  expect(await next).toMatchObject({ ok: true, result: 1 })
  await own.close()
}
