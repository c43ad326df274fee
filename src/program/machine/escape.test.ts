import { afterAll, describe, expect, it } from 'vitest'
import { outputEnvelope } from '../../tool/envelope.js'
import type { ProgramHost } from './host.js'
import { createProgramMachine, type ProgramOutcome } from './machine.js'

const machine = createProgramMachine()
afterAll(() => machine.close())

const secret = 'host-secret-8c1f'
const host: ProgramHost = { call: async ({ args }) => outputEnvelope({ args, ok: true }) }

/** Texts that only the host could have put into a result. */
const hostWords = /host-secret|node:|node_modules|worker_threads|\/src\/|file:\/\/|\[object process\]/

const attempt = (body: string, timeoutMs = 1_500): Promise<ProgramOutcome> =>
  machine.run({
    source: `export default async function run(ctx, inputs) {\n${body}\n}`,
    host,
    limits: { timeoutMs, maxToolCalls: 50 },
    startedAt: 1,
  })

/** Each returns what it reached; `undefined` and similar values mean nothing. */
const reaching: Readonly<Record<string, string>> = {
  'names of the host': `return ['process', 'require', 'module', 'global', 'fetch', 'WebAssembly', 'Deno', 'Bun', 'Worker',
    'WebSocket', 'XMLHttpRequest', 'setTimeout', 'setInterval', 'setImmediate', 'Buffer', 'std', 'os', 'scriptArgs', 'print',
    'SharedArrayBuffer', 'Atomics', 'performance', 'structuredClone', 'importScripts', 'postMessage', 'navigator', 'Intl']
    .filter((name) => typeof globalThis[name] !== 'undefined')`,
  'the constructor of a function': `return ctx.tool.constructor('return typeof process')()`,
  'the constructor of an async function': `return (async () => {}).constructor('return typeof process')()`,
  'the constructor of a generator': `return (function* () {}).constructor('yield typeof process')().next().value`,
  'a long chain of constructors': `return ctx.constructor.constructor.constructor('return typeof require')()`,
  'the constructor of a bridge function': `return console.log.constructor('return typeof process')()`,
  'the constructor of a promise of the bridge': `const p = ctx.tool('x'); const c = p.constructor.constructor; await p
    return c('return typeof process')()`,
  'the constructor of a result': `return (await ctx.tool('x')).constructor.constructor('return typeof process')()`,
  'the constructor of metadata': `return (await ctx.tool('x')).metadata.constructor.constructor('return typeof process')()`,
  'the constructor of an error of the bridge': `try { await ctx.grep() } catch (e) {
    return e.constructor.constructor('return typeof process')() } return 'undefined'`,
  'the stack of an error of the bridge': `try { await ctx.tool('x', { a: 10n }) } catch (e) { return e.stack }`,
  'the stack of a refused import': `try { await import('node:fs') } catch (e) { return e.stack + e.message.replace('node:fs', '') }`,
  'the stack through prepareStackTrace': `Error.prepareStackTrace = (_, frames) => frames
    const { stack } = new Error('x'); return JSON.stringify(stack)`,
  'the function of a call site': `Error.prepareStackTrace = (_, frames) => frames
    const { stack } = new Error('x'); try { return String(stack[0].getThis?.()) } catch { return 'undefined' }`,
  'a bridge function taken from a call site': `let ask
    Error.prepareStackTrace = (_, frames) => { ask ??= frames[0]?.getFunction?.(); return '' }
    await ctx.tool('x'); return ask('process', {}).then(() => 'loaded', (e) => e.message)`,
  'the prototype of everything': `Object.prototype.polluted = 'yes'; return (await ctx.tool('x', {})).output`,
  'a key named __proto__': `return JSON.parse('{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":1}}}')`,
  'arguments named __proto__': `return (await ctx.tool('x', JSON.parse('{"__proto__":{"polluted":"yes"}}'))).output`,
  'its caller': `try { return String(run.caller) } catch { return 'undefined' }`,
  'the arguments of its caller': `try { return String(arguments.callee.caller) } catch { return 'undefined' }`,
  'this of a sloppy function': `return Object.keys(Function('return this')()).join()`,
  'eval in the global scope': `return (0, eval)('typeof process + typeof require')`,
  'a proxy as arguments': `const seen = []; const p = new Proxy({}, { get: (t, k) => { seen.push(String(k)); return undefined },
    ownKeys: () => { seen.push('keys'); return [] } }); await ctx.tool('x', p); return seen`,
  'a proxy as the name of a tool': `try { return (await ctx.tool(new Proxy(() => 1, {}), {})).name } catch (e) { return e.message }`,
  'a getter that calls back': `return ctx.tool('x', { get a() { return typeof process } }).then((r) => r.output)`,
  'a toJSON that calls back': `Object.prototype.toJSON = function () { return typeof process }
    try { return await ctx.tool('x', {}) } catch (e) { return e.message }`,
  'a changed JSON.stringify': `JSON.stringify = () => '{"name":"bash","args":{}}'; return (await ctx.tool('x')).name`,
  'a changed JSON.parse': `JSON.parse = (text) => text; return typeof (await ctx.tool('x'))`,
  'a changed Promise': `globalThis.Promise = class { constructor(f) { f(() => {}, () => {}) } }; return (await ctx.tool('x')).exitCode`,
  'a changed then': `let got; const { then } = Promise.prototype
    Promise.prototype.then = function (...a) { got = this; return then.apply(this, a) }
    await ctx.tool('x'); return typeof got`,
  'a changed Map, Set and Array': `Map.prototype.get = Set.prototype.add = Array.prototype.push = () => { throw 1 }
    return (await ctx.tool('x')).exitCode`,
  'a changed Symbol.species': `class P extends Promise { static get [Symbol.species]() { return Array } }
    try { return await P.resolve(1).then(String) } catch (e) { return 'undefined' }`,
  'a thenable as a result': `return { then(resolve) { resolve(typeof process) } }`,
  'a thenable that never ends well': `return { then(_, reject) { reject(new Proxy({}, { get() { throw 1 } })) } }`,
  'a generator that does not stop': `function* g() { try { yield 1 } finally { yield typeof process } }
    for (const one of g()) break; return 'undefined'`,
  'an async iterator': `const it = { async *[Symbol.asyncIterator]() { yield ctx } }
    for await (const one of it) return Object.keys(one).includes('tool')`,
  'a revoked proxy': `const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); try { return await ctx.tool('x', proxy) } catch { return 'undefined' }`,
  'a proxy for ctx': `return typeof new Proxy(ctx, {}).tools.constructor`,
  'tools by odd names': `const r = []; for (const n of ['__proto__', 'constructor', 'then', 'toString', Symbol.iterator])
    r.push(typeof ctx.tools[n]); return r`,
  'an error with a getter for its stack': `const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { return typeof process } }); throw e`,
  'an error that cannot be described': `throw new Proxy(new Error('x'), { get() { throw new Error('y') } })`,
  'an error of a strange kind': `throw Object.create(null)`,
  'a symbol as an error': `throw Symbol('x')`,
  'a WeakRef and its finalizer': `const r = new FinalizationRegistry(() => {}); r.register(ctx, 1); return typeof new WeakRef(ctx).deref()`,
  'import.meta': `return Object.keys(import.meta).map((k) => String(import.meta[k]))`,
  'modules of the engine': `const r = []; for (const n of ['std', 'os', 'qjs:std', 'qjs:os', 'bjson', 'capstanRun'])
    r.push(await import(n).then(() => 'loaded', () => 'refused')); return r`,
  'its own module': `return import('program.js').then(() => 'loaded', () => 'refused')`,
  'the bridge by name': `return ['post', 'log', 'end', 'deliver', 'seed', 'guest', 'setup', 'port'].filter((n) => typeof globalThis[n] !== 'undefined')`,
  'an answer of its own making': `const p = ctx.tool('x'); console.log({ kind: 'answer', id: 1, ok: true, text: '"forged"' }); return (await p).exitCode`,
}

/** Each tries to exhaust a resource, and reaches its limit soon. */
const exhausting: Readonly<Record<string, string>> = {
  'a giant string': `let s = 'x'; for (;;) s += s`,
  padding: `return 'x'.padEnd(1e9).length`,
  'a giant array': `return new Array(1e9).fill(1).length`,
  'a giant buffer': `return new ArrayBuffer(1.5e9).byteLength`,
  'typed arrays that grow': `const a = []; for (;;) a.push(new Float64Array(1e6).fill(a.length))`,
  'a buffer that is resized': `const b = new ArrayBuffer(8, { maxByteLength: 2 ** 31 }); b.resize(2 ** 30); return b.byteLength`,
  'a regular expression with deep groups': `return new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5)).test('x')`,
  'deep recursion': `const f = () => 1 + f(); return f()`,
  'mutual recursion': `const f = (a) => g([...a, a]), g = (a) => f([...a, a]); return f([])`,
  'recursion through a getter': `const o = { get a() { return this.a } }; return o.a`,
  'recursion in sort': `const f = () => [2, 1].sort(f); return f()`,
  'recursion in replace': `const f = () => 'a'.replace(/a/, f); return f()`,
  'recursion in toPrimitive': `const o = { [Symbol.toPrimitive]() { return \`\${o}\` } }; return \`\${o}\``,
  'a chain of proxies': `let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x`,
  'deep JSON to read': `return JSON.parse('['.repeat(1e6))`,
  'deep JSON to send': `let a = []; for (let i = 0; i < 5000; i++) a = [a]; return (await ctx.tool('x', { a })).output`,
  'deep source': `return eval('('.repeat(1e5))`,
  'deep brackets in source': `return eval('['.repeat(1e5))`,
  'a deep array as text': `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return String(a)`,
  'classes without end': `class A { constructor() { new A() } } return new A()`,
}

/** Each tries to exhaust a resource, and runs until its time is up, or until it has used far more time than it gets. */
const endless: Readonly<Record<string, string>> = {
  'strings of a megabyte': `const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)`,
  'repeated padding': `const a = []; for (;;) a.push('x'.padStart(5e7))`,
  'a giant array as text': `return new Array(1e9) + ''`,
  'a giant number': `let n = 2n; for (;;) n **= 1000n`,
  'a bomb of a regular expression': `return /^(a+)+$/.test('a'.repeat(40) + '!')`,
  'a regular expression that uses memory': `return /^(?:(a)|b)*$/.test('ab'.repeat(1e6))`,
  'a slow search': `return ('a'.repeat(5e6)).indexOf('a'.repeat(2e6) + 'b')`,
  'a replacement that grows': `let s = 'aa'; for (;;) s = s.replaceAll('a', 'aaaaaaaa')`,
  'a chain of bound functions': `let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()`,
  'deep JSON to write': `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a`,
  'a flood of promises': `const a = []; for (;;) a.push(Promise.resolve().then(() => a))`,
  'a flood of microtasks': `await new Promise(() => { const r = () => { queueMicrotask(r); queueMicrotask(r) }; r() })`,
  'a flood of calls': `for (;;) ctx.tool('x', {}).catch(() => 0)`,
  'a flood of sleeps': `const a = []; for (;;) { a.push(sleep(1e6).catch((e) => a.push(e))) }`,
  'a flood of words': `for (;;) console.log('x'.repeat(1e5))`,
  'a giant argument': `return ctx.tool('x', { a: 'x'.repeat(3e7) })`,
  'a giant name': `return ctx.tool('x'.repeat(2e7), {})`,
  'a giant error': `throw new Error('x'.repeat(3e7))`,
  'a giant result': `return 'x'.repeat(3e7)`,
  'a million keys': `const o = {}; for (let i = 0; i < 1e6; i++) o['k' + i] = i; return o`,
  'a million symbols': `for (let i = 0; ; i++) Symbol.for('s' + i)`,
  'interrupts that are swallowed': `for (;;) try { for (;;); } catch {} finally { for (;;); }`,
  'a generator that never ends': `function* g() { for (;;) yield* [1, 2] } return [...g()].length`,
  'a label loop in an async function': `for (;;) await null`,
}

const attempts = { ...reaching, ...exhausting, ...endless }

describe('from inside a program', () => {
  it(`there are ${Object.keys(attempts).length} escape attempts`, () => {
    expect(Object.keys(attempts).length).toBeGreaterThanOrEqual(60)
  })

  it.each(Object.entries(reaching))('nothing of the host is reached through %s', async (_, body) => {
    Object.assign(globalThis, { capstanSecret: secret })
    const outcome = await attempt(body)
    const text = JSON.stringify(outcome)
    expect(text).not.toMatch(hostWords)
    if (outcome.ok)
      expect(JSON.stringify(outcome.result)).not.toMatch(
        /"(object|function)object"|loaded|forged|"yes"|"bash"/,
      )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('the names of the host do not exist', async () => {
    expect(await attempt(reaching['names of the host'] ?? '')).toMatchObject({ ok: true, result: [] })
  })

  it.each([
    ['memory', 'strings of a megabyte', 'program_memory', 'ran out of memory: its limit is 67108864 bytes'],
    [
      'memory of the engine itself',
      'a regular expression that uses memory',
      'program_memory',
      'out of memory',
    ],
    ['stack', 'deep recursion', 'program_failed', 'Maximum call stack size exceeded'],
    ['stack in native code', 'deep JSON to read', 'program_failed', 'Maximum call stack size exceeded'],
    ['stack in the parser', 'deep source', 'program_failed', 'Maximum call stack size exceeded'],
  ])('%s is bounded, and the error says so', async (_, name, code, message) => {
    const outcome = await attempt({ ...exhausting, ...endless }[name] ?? '', 20_000)
    expect(outcome).toMatchObject({ ok: false, code, message: expect.stringContaining(message) })
  })

  it('an exhausted resource ends the program, and the host survives and gets its memory back', {
    timeout: 180_000,
  }, async () => {
    const before = process.memoryUsage().rss
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss)
    }, 20)
    const ended: Record<string, string> = {}
    const timed = (bodies: Readonly<Record<string, string>>, timeoutMs: number) =>
      Object.entries(bodies).map(([name, body]) => ({ name, body, timeoutMs }))
    const programs = [...timed(exhausting, 1_500), ...timed(endless, 60)].values()
    const work = async (): Promise<void> => {
      for (const { name, body, timeoutMs } of programs) {
        const outcome = await attempt(body, timeoutMs)
        ended[name] = outcome.ok ? `ended well: ${JSON.stringify(outcome.result).slice(0, 60)}` : outcome.code
        expect(JSON.stringify(outcome).length, name).toBeLessThan(1_500_000)
      }
    }
    await Promise.all([work(), work(), work()])
    clearInterval(watch)
    expect(Object.values(ended).filter((how) => how === 'program_crashed')).toEqual([])
    expect(Object.entries(ended).filter(([, how]) => how.startsWith('ended well'))).toEqual([])
    expect(await attempt('return 1 + 1')).toMatchObject({ ok: true, result: 2 })
    const mebibyte = 1024 * 1024
    expect((most - before) / mebibyte).toBeLessThan(600)
    expect((process.memoryUsage().rss - before) / mebibyte).toBeLessThan(150)
  })
})
