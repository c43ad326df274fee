import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTool } from '../../src/tool/create-tool.js'
import type { ToolRuntime } from '../../src/tool/runtime.js'
import { ToolSet } from '../../src/tool/tool-set.js'
import { bodyOf, calls, makeRepository, openSession, shownTools, toolResults } from './open-session.js'

const files = {
  'README.md': '# Demo\n\nplanningMode is an option.\n',
  'src/main.rs': 'fn main() {}\nstruct PermissionPolicy;\n',
  'src/lib.rs': '',
  'src/other.ts': '',
}

describe('direct calls', () => {
  it('readFile returns the text unchanged, or some of its lines', async () => {
    const { session } = await openSession([], {}, { ...files, 'crlf.txt': 'a\r\nb\r\nc' })
    expect(await session.readFile('README.md')).toBe(files['README.md'])
    expect(await session.readFile('crlf.txt')).toBe('a\r\nb\r\nc')
    expect(await session.readFile('crlf.txt', { offset: 1, limit: 1 })).toBe('b\r\n')
  })

  it('readFile rejects for a missing file, and outside the workspace', async () => {
    const { session, root } = await openSession([], {}, files)
    await expect(session.readFile('nothing.md')).rejects.toThrow(/nothing\.md/)
    await expect(session.readFile('../user/x')).rejects.toThrow()
    await expect(session.readFile('src')).rejects.toThrow()
    await writeFile(join(root, '..', 'secret'), 'secret')
    await symlink(join(root, '..', 'secret'), join(root, 'link'))
    await expect(session.readFile('link')).rejects.toThrow()
  })

  it('glob returns only paths', async () => {
    const { session } = await openSession([], {}, files)
    expect((await session.glob('src/*.rs')).sort()).toEqual(['src/lib.rs', 'src/main.rs'])
    expect(await session.glob('*.none')).toEqual([])
    await expect(session.glob('*', { path: '/etc' })).rejects.toThrow()
  })

  it('grep returns the text of the matches', async () => {
    const { session } = await openSession([], {}, files)
    const text = await session.grep('PermissionPolicy')
    expect(text).toContain('src/main.rs')
    expect(text).toContain('struct PermissionPolicy')
    expect(await session.grep('planningMode', { glob: '*.md' })).toContain('README.md')
  })

  it('bash returns the output of the command, whatever its exit code', async () => {
    const { session } = await openSession([])
    expect(await session.bash('printf docs-bash')).toBe('docs-bash')
    expect(await session.bash('echo out; echo err >&2; exit 3')).toMatch(/out[\s\S]*err/)
    expect(await session.tool('bash', { command: 'exit 3' })).toMatchObject({ exitCode: 3 })
  })

  it('a tool cannot use a part of its runtime that it first reads after the call', async () => {
    let saved: ToolRuntime | undefined
    const hoard = createTool({
      name: 'hoard',
      description: 'd',
      requires: {
        fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] },
        shell: [{ cmd: '*' }],
      },
      input: z.object({}),
      execute: (_, { runtime }) => {
        saved = runtime
        return 'done'
      },
    })
    const { session, root } = await openSession([], { tools: [hoard] }, files)
    expect((await session.tool('hoard', {})).output).toBe('done')
    await expect(saved?.files?.readText('README.md')).rejects.toThrow()
    await expect(saved?.files?.write('late.txt', 'x')).rejects.toThrow()
    await expect(saved?.shell?.run('touch late.txt')).rejects.toThrow()
    await expect(saved?.scratch?.write('late', 'x')).rejects.toThrow()
    await expect(readFile(join(root, 'late.txt'))).rejects.toThrow()
  })

  it('a tool that does not wait for its command to start cannot start it after the call', async () => {
    let starting: Promise<unknown> | undefined
    const hasty = createTool({
      name: 'hasty',
      description: 'd',
      requires: { shell: [{ cmd: '*' }] },
      input: z.object({}),
      execute: (_, { runtime }) => {
        starting = runtime?.shell?.start('touch late.txt')
        starting?.catch(() => undefined)
        return 'done'
      },
    })
    const { session, root } = await openSession([], { tools: [hasty] })
    expect((await session.tool('hasty', {})).output).toBe('done')
    await expect(starting).rejects.toThrow('the call has ended')
    await expect(readFile(join(root, 'late.txt'))).rejects.toThrow()
  })

  it('a tool cannot extend what was judged by changing its arguments or subjects', async () => {
    const subjects: { fs: 'write'; path: string }[] = []
    const writer = createTool({
      name: 'writer',
      description: 'd',
      requires: { fs: { write: ['{workspace}/out/**'] } },
      input: z.object({ path: z.string() }),
      touches: ({ path }) => {
        subjects.push({ fs: 'write', path })
        return subjects
      },
      execute: async (_, { runtime }) => {
        subjects.push({ fs: 'write', path: 'other.txt' })
        await runtime?.files?.write('other.txt', 'x')
      },
    })
    const runner = createTool({
      name: 'runner',
      description: 'd',
      requires: { shell: [{ cmd: '*' }] },
      input: z.object({ argv: z.array(z.string()) }),
      touches: ({ argv }) => [{ shell: { argv } }],
      execute: async ({ argv }, { runtime }) => {
        argv.splice(0, argv.length, 'touch', 'other.txt')
        await runtime?.shell?.run('touch other.txt')
      },
    })
    const { server, session, root } = await openSession(
      [calls(['runner', { argv: ['echo', 'x'] }]), 'done'],
      {
        tools: [writer, runner],
        permissionPolicy: { allow: ['runner(echo *)'], deny: ['runner(touch *)'] },
      },
    )
    expect((await session.tool('writer', { path: 'out/a.txt' })).output).toContain('outside the grant')
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('denied by the rule runner(touch *)')
    await expect(readFile(join(root, 'other.txt'))).rejects.toThrow()
  })

  it('a tool can copy its runtime with some parts replaced', async () => {
    const copier = createTool({
      name: 'copier',
      description: 'd',
      requires: { fs: { read: ['{workspace}/**'] } },
      input: z.object({}),
      execute: async (_, { runtime }) => {
        const copy: ToolRuntime = { ...runtime, session: {} }
        return `${Object.keys(copy).sort().join(' ')}: ${await copy.files?.readText('README.md')}`
      },
    })
    const { session } = await openSession([], { tools: [copier] }, files)
    const { output } = await session.tool('copier', {})
    expect(output).toBe(`files net scratch search session shell: ${files['README.md']}`)
  })

  it('tool returns output, exit code and metadata', async () => {
    const { session } = await openSession([], {}, files)
    const result = await session.tool('read', { file_path: 'README.md' })
    expect(result).toMatchObject({
      name: 'read',
      exitCode: 0,
      output: expect.stringContaining('planningMode'),
    })
    expect(JSON.parse(result.metadataJson ?? '')).toEqual(result.metadata)
  })

  it('git accepts its commands by name, by position and as an object', async () => {
    const { session, root } = await openSession([], {}, files)
    makeRepository(root)
    await writeFile(join(root, 'README.md'), 'changed\n')
    expect(await session.git('status')).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('1 uncommitted'),
    })
    expect((await session.git('diff')).output).toContain('+changed')
    const log = await session.git('log', undefined, undefined, undefined, undefined, undefined, undefined, 5)
    expect(log).toMatchObject({ exitCode: 0, output: expect.stringContaining('first commit') })
    expect((await session.git({ command: 'log', maxCount: 1 })).output).toContain('first commit')
    await expect(session.git({} as never)).rejects.toThrow(/git options must include a command field/)
  })

  it('write, edit, patch and list files', async () => {
    const { session, root } = await openSession([], {}, files)
    expect((await session.writeFile('new.txt', 'one\ntwo\n')).exitCode).toBe(0)
    expect((await session.editFile('new.txt', 'one', 'ONE')).exitCode).toBe(0)
    const diff = '@@ -1,2 +1,2 @@\n ONE\n-two\n+TWO\n'
    expect(await session.patchFile('new.txt', diff)).toMatchObject({ exitCode: 0 })
    expect(await readFile(join(root, 'new.txt'), 'utf8')).toBe('ONE\nTWO\n')
    expect((await session.ls('src')).output).toContain('main.rs')
    expect((await session.ls()).output).toContain('new.txt')
  })

  it('of an unknown tool fail with a message that has the nearest name', async () => {
    const { session } = await openSession([])
    expect(await session.tool('nope')).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('Unknown tool'),
    })
    expect((await session.tool('raed')).output).toMatch(/"read"/)
  })

  it('with invalid arguments fail with a message', async () => {
    const { session } = await openSession([])
    expect(await session.tool('read', { path: 3 })).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('file_path'),
    })
  })

  it('skip rules and approval, and are still confined to the workspace', async () => {
    const { session, root } = await openSession([], {
      permissionPolicy: { deny: ['write', 'bash'], defaultDecision: 'deny' },
      mode: 'plan',
    })
    expect((await session.writeFile('a.txt', 'x')).exitCode).toBe(0)
    expect(await session.bash('cat a.txt')).toBe('x')
    expect(await session.writeFile('../outside.txt', 'x')).toMatchObject({ exitCode: 1 })
    expect(await session.writeFile('/etc/capstan-test', 'x')).toMatchObject({ exitCode: 1 })
    await symlink(join(root, '..'), join(root, 'up'))
    expect(await session.writeFile('up/outside.txt', 'x')).toMatchObject({ exitCode: 1 })
  })

  it('are limited by the ceiling', async () => {
    const { session } = await openSession([], { ceiling: { fs: { read: ['{workspace}/**'] } } })
    expect((await session.writeFile('a.txt', 'x')).exitCode).toBe(1)
    expect((await session.tool('bash', { command: 'true' })).exitCode).not.toBe(0)
    expect((await session.ls()).exitCode).toBe(0)
  })

  it('are stopped by their signal', async () => {
    const { session } = await openSession([])
    const controller = new AbortController()
    const running = session.tool('bash', { command: 'sleep 60' }, { signal: controller.signal })
    setImmediate(() => controller.abort())
    expect((await running).exitCode).not.toBe(0)
  })

  it('work while a run is active', async () => {
    const { session, server } = await openSession(() => ({ stall: true }))
    const running = session.send('x').catch(() => undefined)
    await server.request(0)
    expect(await session.bash('echo hi')).toContain('hi')
    session.cancel()
    await running
  })
})

describe('the tools of a session', () => {
  it('have the documented names and definitions', async () => {
    const { session } = await openSession([])
    expect(session.toolNames()).toEqual(
      expect.arrayContaining([
        'read',
        'write',
        'edit',
        'patch',
        'grep',
        'glob',
        'ls',
        'bash',
        'git',
        'batch',
        'web_fetch',
        'web_search',
        'todo',
        'question',
      ]),
    )
    const definitions = session.toolDefinitions()
    expect(definitions.map(({ name }) => name)).toEqual(session.toolNames())
    for (const { description, parameters } of definitions) {
      expect(description.length).toBeGreaterThan(10)
      expect(parameters).toMatchObject({ type: 'object' })
    }
  })

  const add = createTool({
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  })

  it.each([
    ['a list', [add]],
    ['a ToolSet', ToolSet.fromTools([add])],
  ])('include those of the host as %s', async (_, tools) => {
    const { server, session } = await openSession(
      [calls(['add', { a: 1, b: 2 }], ['add', { a: 'x' }]), 'done'],
      {
        tools,
        permissionPolicy: { allow: ['add'] },
      },
    )
    expect(await session.tool('add', { a: 2, b: 3 })).toMatchObject({ output: '5', exitCode: 0 })
    await session.send('x')
    expect(shownTools(server, 0)).toContain('add')
    const [sum, wrong] = toolResults(server, 1)
    expect(sum).toBe('3')
    expect(wrong).toMatch(/a|b/)
    expect(session.toolDefinitions().map(({ name }) => name)).toContain('add')
  })

  it('can be added and removed while the session is open', async () => {
    const { server, session } = await openSession(
      ['one', calls(['add', { a: 1, b: 2 }]), 'two', calls(['add', { a: 1, b: 2 }]), 'three'],
      {
        permissionPolicy: { allow: ['add'] },
      },
    )
    await session.send('x')
    expect(shownTools(server, 0)).not.toContain('add')
    session.registerTool(add)
    await session.send('y')
    expect(shownTools(server, 1)).toEqual([...shownTools(server, 0), 'add'])
    expect(toolResults(server, 2).at(-1)).toBe('3')
    expect(session.unregisterTool('add')).toBe(true)
    expect(session.unregisterTool('add')).toBe(false)
    await session.send('z')
    expect(shownTools(server, 3)).not.toContain('add')
    expect(toolResults(server, 4).at(-1)).toContain('Unknown tool')
  })

  it('do not include a value that is not a tool', async () => {
    const { session } = await openSession([])
    expect(() => session.registerTool({ name: 'x' } as never)).toThrow(/x|tool/)
    expect(session.toolNames()).not.toContain('x')
  })

  it('can be excluded', async () => {
    const none = await openSession(['ok'], { builtinTools: false })
    await none.session.send('x')
    expect(bodyOf(none.server, 0).tools ?? []).toEqual([])
    const some = await openSession(['ok'], { builtinTools: ['read', 'ls'] })
    await some.session.send('x')
    expect(shownTools(some.server, 0)).toEqual(['read', 'ls'])
  })

  it('that throw are reported to the model with a message', async () => {
    const broken = createTool({
      name: 'broken',
      description: 'Always fails.',
      input: z.object({}),
      execute: () => {
        throw new Error('the disk is on fire')
      },
    })
    const { server, session } = await openSession([calls(['broken', {}]), 'done'], {
      tools: [broken],
      permissionPolicy: { allow: ['broken'] },
    })
    expect((await session.send('x')).text).toBe('done')
    expect(toolResults(server, 1)[0]).toContain('the disk is on fire')
  })

  it('of the host are shown up to 20 or a tenth of the window; the others are found by search and added at the end', async () => {
    // 25 of about 780 tokens each are more than a tenth of the 128,000 that are assumed: 16 fit, and 20 are shown in
    // any case.
    const padding = ' '.padEnd(3_000, 'x')
    const many = Array.from({ length: 25 }, (_, at) =>
      createTool({
        name: `unit_${at}`,
        description: `${at === 24 ? 'Converts parsecs to furlongs.' : `Converts unit number ${at}.`}${padding}`,
        input: z.object({}),
        execute: () => `converted by ${at}`,
      }),
    )
    const { server, session } = await openSession(
      [
        calls(['tool_search', { query: 'parsecs furlongs', limit: 1 }]),
        calls(['unit_24', {}]),
        'done',
        'later',
      ],
      { tools: many, permissionPolicy: { allow: ['unit_24'] } },
    )
    await session.send('x')
    const first = shownTools(server, 0)
    expect(first).toEqual(expect.arrayContaining(['read', 'bash', 'unit_0', 'unit_19']))
    expect(first).toContain('tool_search')
    expect(first).not.toContain('unit_24')
    expect(first.filter((name) => name.startsWith('unit_'))).toHaveLength(20)
    expect(toolResults(server, 1)[0]).toContain('unit_24')
    expect(shownTools(server, 1)).toEqual([...first, 'unit_24'])
    expect(
      JSON.stringify(bodyOf(server, 1).tools).startsWith(
        JSON.stringify(bodyOf(server, 0).tools).slice(0, -1),
      ),
    ).toBe(true)
    expect(toolResults(server, 2)[1]).toBe('converted by 24')
    await session.send('y')
    expect(shownTools(server, 3)).toEqual(shownTools(server, 2))
    expect(await session.tool('unit_23')).toMatchObject({ output: 'converted by 23' })
  })
})
