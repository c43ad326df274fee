import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { makeWorkspace } from '../contract/open-session.js'
import { sharedDirectory } from '../support/temporary-directory.js'

const user = sharedDirectory()
/** The tests share the threads of its programs. */
let agent: Agent
beforeAll(async () => {
  agent = await Agent.create({}, { userDir: user })
})
afterAll(() => agent.close())

let base: string
let work: string
let sessions: Session[]
beforeEach(async () => {
  const place = await makeWorkspace({
    'README.md': 'planningMode is here\n',
    'crates/a/lib.rs': 'struct PermissionPolicy;\n',
    '.env': 'SECRET=1\n',
  })
  base = place.base
  work = place.root
  sessions = []
})
afterEach(async () => {
  for (const session of sessions) await session.close()
})

function openSession(options?: SessionOptions): Session {
  const session = agent.session(work, options)
  sessions.push(session)
  return session
}

describe('session.program', () => {
  it('runs a script that reads and searches, and returns its result as data', async () => {
    const session = openSession()
    const result = await session.program({
      source: `
        export default async function run(ctx, inputs) {
          const text = await ctx.readFile('README.md');
          const hits = await ctx.grep(inputs.q, { glob: '*.md' });
          return { summary: 'ok', hasHits: text.includes(inputs.q) && hits.includes(inputs.q) };
        }
      `,
      inputs: { q: 'planningMode' },
      allowedTools: ['read', 'grep'],
      limits: { timeoutMs: 30_000, maxToolCalls: 12, maxOutputBytes: 65_536 },
    })
    expect(result.exitCode).toBe(0)
    const meta = JSON.parse(result.metadataJson ?? '{}')
    expect(meta.script_result).toEqual({ summary: 'ok', hasHits: true })
    expect(meta.program.tool_calls.map(({ tool_name }: { tool_name: string }) => tool_name)).toEqual([
      'read',
      'grep',
    ])
  })

  it('runs a file of the workspace with an array of paths', async () => {
    await writeFile(
      join(work, 'search.js'),
      `export default async function run(ctx, inputs) {
        const files = await ctx.glob('crates/**/*.rs')
        const found = []
        for (const file of files.slice(0, 20))
          if ((await ctx.readFile(file)).includes(inputs.query)) found.push(file)
        return { summary: 'Found ' + found.length, found }
      }`,
    )
    const session = openSession()
    const { metadata } = await session.program({ path: 'search.js', inputs: { query: 'PermissionPolicy' } })
    expect(metadata?.['script_result']).toEqual({ summary: 'Found 1', found: ['crates/a/lib.rs'] })
  })

  it('called by a model, has the permissions of the model', async () => {
    const source = `export default async (ctx) => {
      const secret = await ctx.tool('read', { file_path: '.env' })
      const write = await ctx.tool('write', { file_path: 'x.txt', content: 'x' })
      return { secret: secret.exitCode, write: write.exitCode, said: secret.output }
    }`
    const model = scriptedModel([
      {
        toolCalls: [
          {
            name: 'program',
            args: {
              source: source
                .replace('export default async (ctx)', 'export default async function run(ctx)')
                .replace('=> {', '{'),
            },
          },
        ],
      },
      'done',
    ])
    const session = openSession({
      model,
      permissionPolicy: { deny: ['read(**/.env*)'] },
    })
    await session.send('go')
    const result = JSON.stringify(model.requests[1]?.chatHistory.at(-1))
    expect(result).toContain('Program script completed')
    expect(result).toMatch(/\\"secret\\": 1/)
    expect(result).toMatch(/\\"write\\": 1/)
    expect(result).toContain('is denied by the rule')
    expect(result).not.toContain('SECRET=1')
  })

  it('reads files unchanged, lists paths, and verifies with commands', async () => {
    await writeFile(join(work, 'dos.txt'), '\uFEFFone\r\ntwo\r\n')
    await writeFile(join(work, 'long.txt'), 'é'.repeat(9 * 1024 * 1024))
    await writeFile(join(work, 'odd.bin'), Buffer.from([0x61, 0xff, 0xfe]))
    const session = openSession()
    const { metadata, output } = await session.program({
      source: `export default async (ctx) => ({
        text: await ctx.readFile('dos.txt'),
        line: await ctx.readFile('dos.txt', { offset: 1 }),
        long: await ctx.readFile('long.txt').catch((error) => error.message),
        tooLong: await ctx.readFile('long.txt', { limit: 1 }).catch((error) => error.message),
        odd: await ctx.readFile('odd.bin').catch((error) => error.message),
        view: (await ctx.read('dos.txt')).output,
        paths: await ctx.glob('**/*.rs'),
        ls: (await ctx.ls()).includes('README.md'),
        bash: await ctx.bash('printf here'),
        git: (await ctx.git('status')).exitCode,
        search: (await ctx.webSearch('capstan')).exitCode,
        same: (await ctx.tool('grep', { pattern: 'planning' })).output === (await ctx.tools.grep({ pattern: 'planning' })).output,
        report: await ctx.verify('docs', [{ id: 'unit', command: 'printf checked' }, 'exit 3']),
      })`,
    })
    expect(metadata?.['script_result'], output).toMatchObject({
      text: '\uFEFFone\r\ntwo\r\n',
      line: 'two\r\n',
      long: expect.stringContaining('longer than maxOutputBytes=65536 bytes'),
      tooLong: expect.stringContaining('16777224'),
      odd: 'odd.bin is not UTF-8 text.',
      view: expect.stringContaining('1\tone'),
      paths: ['crates/a/lib.rs'],
      ls: true,
      bash: 'here',
      git: 1,
      search: 1,
      same: true,
      report: { subject: 'docs' },
    })
    expect(session.verificationReports()).toHaveLength(1)
  })

  it('removes the types from a file of the workspace', async () => {
    await writeFile(join(work, 'typed.ts'), 'export default (_: unknown, n: number): number => n * 2\n')
    const { metadata } = await openSession().program({ path: 'typed.ts', inputs: 21 })
    expect(metadata?.['script_result']).toBe(42)
  })

  it('has its own time limit, and its calls have that of the session', async () => {
    const slow = createJsonTool({
      name: 'slow',
      description: '',
      parameters: { type: 'object' },
      execute: (_, { signal }) => new Promise((resolve) => signal?.addEventListener('abort', resolve)),
    })
    const session = openSession({ toolTimeoutMs: 300, tools: [slow] })
    const { metadata } = await session.program({
      source: `export default async (ctx) => {
        await sleep(500)
        return (await ctx.tools.slow()).output
      }`,
    })
    expect(metadata?.['script_result']).toContain('did not finish within 300 ms')
    const late = await session.program({
      source: 'export default () => sleep(60000)',
      limits: { timeoutMs: 400 },
    })
    expect(late.output).toContain('program script timed out after 400 ms')
  })
})

describe('a program that a model runs', () => {
  const asked = (source: string, limits = {}) =>
    scriptedModel([{ toolCalls: [{ name: 'program', args: { source, limits } }] }, 'done'])
  const resultIn = (model: ReturnType<typeof scriptedModel>): string =>
    JSON.stringify(model.requests[1]?.chatHistory.at(-1))

  it('waits for an approval without using its time', async () => {
    const source = `export default async function run(ctx) {
      const [one, two] = await Promise.all([
        ctx.tool('write', { file_path: 'x.txt', content: 'x' }),
        ctx.tool('batch', { invocations: [{ tool: 'write', args: { file_path: 'y.txt', content: 'y' } }] }),
      ])
      return { codes: [one.exitCode, two.exitCode] }
    }`
    const runWith = async (timeoutMs: number, waitMs: number): Promise<number> => {
      const model = asked(source, { timeoutMs })
      const onAsk = async () => {
        await wait(waitMs)
        return { decision: 'once' as const }
      }
      const session = openSession({ model, permissionPolicy: { ask: ['write'] }, onAsk })
      const started = performance.now()
      await session.send('go')
      expect(resultIn(model)).toMatch(/codes.{1,30}0,.{1,30}0/)
      return performance.now() - started
    }
    // What the program itself takes depends on the machine.
    const itself = await runWith(60_000, 0)
    const timeoutMs = Math.max(1_000, Math.ceil(5 * itself))
    await runWith(timeoutMs, timeoutMs + 200)
    expect(await readFile(join(work, 'x.txt'), 'utf8')).toBe('x')
  })

  it('reads and lists with the rules of the tools whose data it uses', async () => {
    const model = asked(`export default async function run(ctx) {
      const refused = await ctx.readFile('.env').catch((error) => error.message)
      return { refused, paths: await ctx.glob('**/*') }
    }`)
    const session = openSession({ model, permissionPolicy: { deny: ['read(**/.env*)'] } })
    await session.send('go')
    expect(resultIn(model)).toContain('is denied by the rule')
    expect(resultIn(model)).not.toContain('SECRET=1')
  })

  it('cannot verify with a command that it cannot run', async () => {
    const model = asked(`export default async function run(ctx) {
      return await ctx.verify('all', ['touch made.txt'])
    }`)
    const session = openSession({ model, permissionPolicy: { deny: ['bash'] } })
    await session.send('go')
    expect(resultIn(model)).toContain('not_run')
    await expect(readFile(join(work, 'made.txt'))).rejects.toThrow()
  })

  it('runs the script that was approved, and no other (SEC-219)', async () => {
    const path = join(work, 'script.js')
    const good = `export default async function run() { return { summary: 'good' } }`
    await writeFile(path, good)
    const model = scriptedModel([
      { toolCalls: [{ name: 'program', args: { path: 'script.js' } }] },
      { toolCalls: [{ name: 'program', args: { path: 'script.js' } }] },
      { toolCalls: [{ name: 'program', args: { path: '../outside.js' } }] },
      { toolCalls: [{ name: 'program', args: { path: 'link.js' } }] },
      'done',
    ])
    await writeFile(join(base, 'outside.js'), good)
    await symlink(join(base, 'outside.js'), join(work, 'link.js'))
    const keys: string[] = []
    const session = openSession({
      model,
      permissionPolicy: { ask: ['program'] },
      onAsk: async ({ key, notes }) => {
        expect(notes.join()).toMatch(/It runs (script\.js as it is now \(\w+\)|link\.js .*cannot be read)/)
        keys.push(key)
        if (keys.length === 1) await writeFile(path, good.replace('good', 'evil'))
        return { decision: 'once' }
      },
    })
    await session.send('go')
    const results = session
      .history()
      .filter(({ role }) => role === 'tool')
      .map((one) => JSON.stringify(one))
    expect(results[0]).toContain('was changed after the call was judged')
    expect(results[1]).toContain('evil')
    // Another content is another question.
    expect(new Set(keys).size).toBe(keys.length)
    for (const refused of results.slice(2)) expect(refused).not.toContain('completed')
  })

  it('is described with the existing tools, and with the same text for the whole session', async () => {
    const model = scriptedModel(['one', 'two'])
    const session = openSession({ model, builtinTools: ['read', 'program'] })
    const described = (at: number) => model.requests[at]?.tools?.find(({ name }) => name === 'program')
    await session.send('go')
    expect(described(0)?.description).toContain('readFile(path, { offset, limit }?): string')
    expect(described(0)?.description).not.toContain('bash(')
    const more = { name: 'bash', description: '', parameters: { type: 'object' }, execute: () => '' } as const
    session.registerTool(createJsonTool(more))
    await session.send('continue')
    expect(model.requests[1]?.tools?.map(({ name }) => name)).toContain('bash')
    expect(described(1)).toEqual(described(0))
  })
})

describe('ctx.readFile', () => {
  const read = (limits: object, file = 'long.txt', options = {}) => {
    const source = `export default (ctx, [file, options]) =>
      ctx.readFile(file, options).then((text) => ({ text }), (error) => ({ error: error.message }))`
    return openSession()
      .program({ source, inputs: [file, options], limits })
      .then(({ metadata, output }) => (metadata?.['script_result'] ?? { output }) as Record<string, string>)
  }

  it('returns a complete text, up to the last byte of the limit', async () => {
    const text = 'é'.repeat(5_000)
    await writeFile(join(work, 'long.txt'), text)
    expect(await read({ maxOutputBytes: 16_000 })).toEqual({ text })
  })

  it.each([
    ['of one byte more than the limit', 'x'.repeat(65_537), {}, 65_536, {}],
    ['much longer than the limit', 'xy\n'.repeat(1_000_000), {}, 65_536, {}],
    ['of characters of several bytes', '€'.repeat(400), { maxOutputBytes: 1_199 }, 1_199, {}],
    [
      'of which the lines asked for are too long',
      'xy\n'.repeat(1_000),
      { maxOutputBytes: 299 },
      299,
      { offset: 5, limit: 100 },
    ],
  ])('throws for a text %s, and names the limit', async (_, text, limits, named, options) => {
    await writeFile(join(work, 'long.txt'), text)
    const { error, text: given } = await read(limits, 'long.txt', options)
    expect(given).toBeUndefined()
    expect(error).toContain(`"long.txt" is longer than maxOutputBytes=${named} bytes`)
  })

  it('throws for a text that ends within a character', async () => {
    await writeFile(join(work, 'long.txt'), Buffer.from([0x61, 0xe2, 0x82]))
    expect((await read({}))['error']).toContain('not UTF-8')
  })
})

describe('the limits of a program', () => {
  const limitsOf = async (request: { source: string; allowedTools?: string[]; limits?: object }) => {
    const { metadata } = await openSession().program(request)
    return metadata?.['program']
  }
  const nothing = 'export default () => 1'
  const delegating = `export default (ctx) => ctx.tools.task({ agent: 'nobody', prompt: 'x' })`

  it('apply to its own result', async () => {
    const run = (source: string) => openSession().program({ source, limits: { maxOutputBytes: 200 } })
    const long = await run(`export default () => 'x'.repeat(300)`)
    expect(long).toMatchObject({ exitCode: 1, output: expect.stringContaining('maxOutputBytes=200') })
    expect(long.output).not.toContain('xxxx')
    const short = await run(`export default () => Array.from({ length: 90 }, () => 1)`)
    expect(short.exitCode).toBe(0)
    expect(Buffer.byteLength(short.output.split('Result:\n')[1] ?? '')).toBeLessThanOrEqual(200)
  })

  it('are 30 seconds by default, and ten minutes for one that starts subagents', async () => {
    expect(await limitsOf({ source: nothing })).toMatchObject({
      limits: { timeoutMs: 30_000, maxToolCalls: 20, maxOutputBytes: 65_536 },
    })
    expect(await limitsOf({ source: nothing, allowedTools: ['read'] })).toMatchObject({
      limits: { timeoutMs: 30_000 },
    })
    for (const tool of ['task', 'parallel_task'])
      expect(await limitsOf({ source: nothing, allowedTools: [tool] })).toMatchObject({
        limits: { timeoutMs: 600_000 },
      })
    expect(await limitsOf({ source: delegating })).toMatchObject({ limits: { timeoutMs: 600_000 } })
    const batch = `export default (ctx) => ctx.tools.batch({ invocations: [{ tool: 'task', args: {} }] })`
    expect(await limitsOf({ source: batch })).toMatchObject({ limits: { timeoutMs: 600_000 } })
    expect(await limitsOf({ source: delegating, limits: { timeoutMs: 5_000 } })).toMatchObject({
      limits: { timeoutMs: 5_000 },
    })
  })
})
