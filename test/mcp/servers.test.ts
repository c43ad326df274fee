// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of a configuration file look like that
import { writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { FixedClock } from '../../src/loop/host-env.js'
import type { SessionOptions } from '../../src/session/options.js'
import {
  calls,
  eventsOf,
  makeWorkspace,
  ofType,
  openSession,
  shownTools,
  toolResults,
  whenDone,
} from '../contract/open-session.js'
import { describeWithEachSandbox } from '../security/sandbox/support/needs-bubblewrap.js'
import { startEverything } from './everything-http.js'
import { badEntry, badServer, entryOf } from './support.js'

const limit = 120_000
const allow = { permissionPolicy: { allow: ['mcp__*'] } }
const everything = { name: 'every', command: process.execPath, args: [entryOf('everything'), 'stdio'] }

describe('a server over stdio', { timeout: limit }, () => {
  it('is added by position, called, and removed', async () => {
    const { session } = await openSession([])
    const count = await session.addMcpServer('echo', 'stdio', process.execPath, [badEntry, 'none'])
    expect(count).toBe(1)
    expect(await session.mcpStatus()).toMatchObject([{ name: 'echo', connected: true, toolCount: 1 }])
    expect(await session.mcps()).toEqual(await session.mcpStatus())
    expect(session.toolNames().filter((name) => name.startsWith('mcp__echo__'))).toEqual(['mcp__echo__echo'])
    const result = await session.tool('mcp__echo__echo', { message: 'docs mcp ok' })
    expect(result).toMatchObject({ output: 'Echo: docs mcp ok', exitCode: 0 })
    expect(await session.removeMcpServer('echo')).toBe(true)
    expect(await session.removeMcp('echo')).toBe(false)
    expect(session.toolNames().filter((name) => name.startsWith('mcp__'))).toEqual([])
    expect(await session.mcpStatus()).toEqual([])
  })

  it.each([
    [{ name: 'x' }, "'command' is required for stdio transport"],
    [{ name: 'x', transport: 'http' }, "'url' is required for http transport"],
    [
      { name: 'x', transport: 'carrier-pigeon' },
      "Unknown transport 'carrier-pigeon'. Use 'stdio', 'http', or 'streamable-http'",
    ],
    [{ name: '  ' }, 'needs a name'],
    [{ name: 'x', command: 'a', comand: 'b' }, 'no option "comand"'],
    [{ name: 'x', url: 'https://user:hunter2@example.test' }, "use 'headers' or 'oauth'"],
  ])('is rejected when it is invalid: %j', async (server, words) => {
    const { session } = await openSession([])
    const error = await session.addMcp(server as never).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'McpError', code: 'mcp_config' })
    expect((error as Error).message).toContain(words)
    expect((error as Error).message).not.toContain('hunter2')
  })

  it('can be an option, is connected at the first run, and its tools are found by search', async () => {
    const { session, server } = await openSession(
      [
        calls(['tool_search', { query: 'thing number 37', limit: 1 }]),
        calls(['mcp__bad__tool37', { message: 'hi' }]),
        'done',
      ],
      {
        ...allow,
        toolSearch: 'always',
        mcpServers: { bad: { command: process.execPath, args: [badEntry, 'many'] } },
      },
    )
    expect(await session.mcpStatus()).toMatchObject([{ name: 'bad', connected: false, state: 'idle' }])
    expect((await session.send('go')).text).toBe('done')
    expect(shownTools(server, 0).filter((name) => name.startsWith('mcp__'))).toEqual([])
    expect(shownTools(server, 1)).toEqual([...shownTools(server, 0), 'mcp__bad__tool37'])
    expect(toolResults(server, 2).at(-1)).toBe('Echo: hi')
    expect((await session.send('/mcp')).text).toBe('MCP servers: 1\n  bad: 60 tools')
  })

  it('has its tools shown directly while they are few', async () => {
    const { session, server } = await openSession([calls(['mcp__bad__echo', { message: 'hi' }]), 'done'], {
      ...allow,
      builtinTools: ['read'],
      mcpServers: [badServer('none')],
    })
    await session.send('go')
    expect(shownTools(server, 0)).toEqual(['read', 'mcp__bad__echo'])
    expect(toolResults(server, 1)).toEqual(['Echo: hi'])
  })

  it('can be configured; one of the session replaces it until it is removed', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      `mcp_servers "bad" { command = "${process.execPath}" args = ["${badEntry}", "none"] }
       mcp_servers "off" { command = "false" enabled = false }`,
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    const session = agent.session(root, { sandbox: 'off' })
    expect((await session.tool('mcp__bad__echo', { message: 'a' })).output).toBe('Echo: a')
    expect(await session.mcpStatus()).toMatchObject([
      { name: 'bad', state: 'connected' },
      { name: 'off', state: 'disabled', connected: false },
    ])
    await session.addMcp(badServer('tool-error'))
    expect(await session.tool('mcp__bad__echo', { message: 'a' })).toMatchObject({
      output: 'the disk is full',
      exitCode: 1,
    })
    await session.removeMcp('bad')
    await session.refreshMcpTools('bad')
    expect((await session.tool('mcp__bad__echo', { message: 'a' })).output).toBe('Echo: a')
    await agent.refreshMcpTools()
  })

  it('reports progress, receives the cancellation of a call, and answers the next one', async () => {
    const name = 'mcp__every__trigger-long-running-operation'
    const { session } = await openSession(
      [calls([name, { duration: 0.2, steps: 4 }]), 'done', calls([name, { duration: 60, steps: 600 }])],
      { ...allow, builtinTools: false, mcpServers: [everything] },
    )
    const deltas = ofType(await eventsOf(session, 'go'), 'tool_output_delta').map(({ text }) => text)
    expect(deltas.join('')).toMatch(/1\/4[\s\S]*4\/4/)
    const events: AgentEvent[] = []
    for await (const event of await session.stream('go')) {
      events.push(event)
      if (event.type === 'tool_output_delta') session.cancel()
    }
    expect(ofType(events, 'tool_end')[0]?.toolOutput).toMatch(/abort|cancel/)
    expect((await session.tool('mcp__every__echo', { message: 'still here' })).output).toBe(
      'Echo: still here',
    )
  })

  it('returns resources, images as images, and prompts as commands for the model', async () => {
    const { session, server } = await openSession(['a poem'])
    await session.addMcp(everything)
    // What only a user or a model of the host could answer is not offered without them.
    expect(session.toolNames()).not.toContain('mcp__every__trigger-elicitation-request')
    expect(session.toolNames()).not.toContain('mcp__every__trigger-sampling-request')
    const { envelope } = await session.tool('mcp__every__get-tiny-image')
    expect(envelope).toMatchObject({
      data: [{ type: 'text' }, { type: 'image', mediaType: 'image/png' }, { type: 'text' }],
    })
    const list = await session.tool('mcp__every__list_resources')
    const [first] = JSON.parse(list.output) as { uri: string }[]
    const read = await session.tool('mcp__every__read_resource', { uri: first?.uri })
    expect(read).toMatchObject({ exitCode: 0 })
    expect(read.output.length).toBeGreaterThan(100)
    expect(session.listCommands().map(({ name }) => name)).toContain('mcp__every__args-prompt')
    expect((await session.send('/mcp__every__args-prompt Paris Texas')).text).toBe('a poem')
    const asked = JSON.stringify(server.requests[0]?.body)
    expect(asked).toContain('Paris, Texas')
    await expect(session.send('/mcp__every__args-prompt')).rejects.toThrow('needs: city')
  })

  it('can ask the user, and a model only when the host allows it', async () => {
    const asked: unknown[] = []
    const sampling = async (request: unknown) => {
      asked.push(request)
      return { model: 'mine', text: 'sampled' }
    }
    const onQuestion: SessionOptions['onQuestion'] = (all) => ({ answers: all.map(() => ['Ada']) })
    const { session } = await openSession([], { onQuestion, mcp: { sampling } })
    await session.addMcp(everything)
    expect(session.toolNames()).toContain('mcp__every__trigger-elicitation-request')
    const answered = await session.tool('mcp__every__trigger-elicitation-request')
    expect(answered.output).toMatch(/Ada|accept/i)
    const roots = await session.tool('mcp__every__get-roots-list')
    expect(roots.output).toContain(`file://${session.workspace}`)
    const result = await session.tool('mcp__every__trigger-sampling-request', { prompt: 'hm', maxTokens: 5 })
    expect(result.output).toContain('sampled')
    expect(asked).toMatchObject([{ server: 'every', maxTokens: 5 }])
  })

  it('is disconnected when it is idle, and connected again by the next call', async () => {
    const clock = new FixedClock(1_000_000)
    let now = 1_000_000
    clock.now = () => now
    const { session, agent } = await openSession([], { hostEnv: { clock } as never })
    await session.addMcp(badServer('none'))
    const pid = async () => (await session.tool('mcp__bad__echo', { message: 'pid' })).output
    const before = await pid()
    now += 4_000
    expect(await agent.disconnectIdleMcp(5_000)).toEqual([])
    now += 2_000
    await session.touchMcp('bad')
    expect(await agent.disconnectIdleMcp(5_000)).toEqual([])
    now += 6_000
    // Not waited for: it counts from the moment it is called.
    const touched = session.touchMcp('bad')
    expect(await agent.disconnectIdleMcp(5_000)).toEqual([])
    await touched
    await expect(session.touchMcp('bed')).rejects.toThrow('Did you mean "bad"?')
    now += 6_000
    expect(await agent.disconnectIdleMcp(5_000)).toEqual(['bad'])
    expect(await session.mcpStatus()).toMatchObject([{ connected: false, state: 'idle', toolCount: 1 }])
    expect(await agent.disconnectIdleMcp(5_000)).toEqual([])
    const after = await pid()
    expect(after).not.toBe(before)
    expect(await session.mcpStatus()).toMatchObject([{ connected: true }])
  })
})

describe('disconnectIdleMcp', () => {
  it.each([['5000'], [Number.NaN], [-1], [undefined], [null], [{}], [true]])(
    'rejects %s as a number of milliseconds, with or without servers',
    async (thresholdMs) => {
      const { session, agent } = await openSession([])
      const says = /number of milliseconds of at least 0/
      await expect(agent.disconnectIdleMcp(thresholdMs as never)).rejects.toThrow(says)
      await expect(session.disconnectIdleMcp(thresholdMs as never)).rejects.toThrow(says)
      await session.close()
      await expect(agent.disconnectIdleMcp(thresholdMs as never)).rejects.toThrow(says)
    },
  )
})

describe('a server over HTTP', { timeout: limit }, () => {
  let servers: Record<'streamableHttp' | 'sse', Awaited<ReturnType<typeof startEverything>>>
  beforeAll(async () => {
    const [streamableHttp, sse] = await Promise.all([
      startEverything('streamableHttp'),
      startEverything('sse'),
    ])
    servers = { streamableHttp, sse }
  })
  afterAll(async () => {
    for (const { close } of Object.values(servers)) await close()
  })

  it.each(['streamableHttp', 'sse'] as const)('connects by %s', async (kind) => {
    const server = servers[kind]
    const { session } = await openSession([])
    const count = await session.addMcpServer(
      'web',
      kind === 'sse' ? 'sse' : 'http',
      undefined,
      undefined,
      server.url,
    )
    expect(count).toBeGreaterThan(5)
    expect((await session.tool('mcp__web__echo', { message: 'over there' })).output).toBe('Echo: over there')
    const slow = await session.tool('mcp__web__trigger-long-running-operation', { duration: 0.2, steps: 2 })
    expect(slow.exitCode).toBe(0)
    await session.removeMcp('web')
  })

  it('falls back to event streams when the server supports nothing else', async () => {
    const { session } = await openSession([])
    expect(await session.addMcp({ name: 'web', url: servers.sse.url })).toBeGreaterThan(5)
    expect((await session.tool('mcp__web__echo', { message: 'old' })).output).toBe('Echo: old')
  })

  it('is idle, lost and connected again like any other', async () => {
    const server = servers.streamableHttp
    const { session } = await openSession([])
    await session.addMcp({ name: 'web', url: server.url })
    expect(await session.disconnectIdleMcp(0)).toEqual(['web'])
    expect((await session.tool('mcp__web__echo', { message: 'again' })).output).toBe('Echo: again')
    await server.close()
    const lost = await session.tool('mcp__web__echo', { message: 'gone' })
    expect(lost.exitCode).toBe(1)
    expect(lost.output).toMatch(/mcp server web/)
  })
})

describeWithEachSandbox('the filesystem server in a sandbox', (sandbox) => {
  it('reads the workspace, and writes only where it has a grant', { timeout: limit }, async () => {
    const { session, root } = await openSession([], { sandbox }, { 'a.txt': 'hello from here' })
    const args = [entryOf('filesystem'), root]
    // Where the server is installed may lie in a place that the sandbox hides, such as below the temporary directory.
    const server = {
      name: 'fs',
      command: process.execPath,
      args,
      sandbox: 'workspace',
      readOnly: [resolve('node_modules'), dirname(process.execPath)],
    } as const
    await session.addMcp(server)
    expect(await session.mcpStatus()).toMatchObject([{ confined: true, sandbox }])
    const read = await session.tool('mcp__fs__read_text_file', { path: join(root, 'a.txt') })
    expect(read.output).toContain('hello from here')
    const write = () => session.tool('mcp__fs__write_file', { path: join(root, 'b.txt'), content: 'x' })
    expect((await write()).exitCode).toBe(1)
    await session.removeMcp('fs')
    await session.addMcp({ ...server, writable: ['.'] })
    expect(await write()).toMatchObject({ exitCode: 0 })
  })
})

describe('.mcp.json', { timeout: limit }, () => {
  const file = JSON.stringify({
    mcpServers: {
      bad: {
        command: process.execPath,
        args: [badEntry, 'none'],
        env: { TOKEN: '${TOKEN}' },
        readOnly: [dirname(badEntry), dirname(process.execPath)],
      },
    },
  })

  it('starts nothing before the user has confirmed it, and nothing again once it has changed', async () => {
    const options = { env: { TOKEN: 'tok-123456' }, sandbox: 'off' as const }
    const { session, agent, root } = await openSession(['one', 'two', 'three'], options, {
      '.mcp.json': file,
    })
    const notices = ofType(await eventsOf(session, 'go'), 'notice').filter(({ source }) => source === 'mcp')
    expect(notices[0]?.message).toContain('is not confirmed')
    expect(await session.mcpStatus()).toEqual([])
    const shown = await session.mcpFile()
    expect(shown).toMatchObject({ confirmed: false, servers: [{ name: 'bad' }], problems: [] })
    await expect(session.confirmMcpFile('0'.repeat(64))).rejects.toThrow('not the one that was confirmed')
    await session.confirmMcpFile(shown?.confirmation ?? '')
    expect((await session.tool('mcp__bad__echo', { message: 'hi' })).output).toBe('Echo: hi')

    const later = agent.session(root, options)
    expect((await later.tool('mcp__bad__echo', { message: 'env' })).output).toContain('"TOKEN":"tok-123456"')
    await writeFile(join(root, '.mcp.json'), `${file} `)
    const changed = agent.session(root, options)
    await changed.send('go')
    expect(await changed.mcpStatus()).toEqual([])
  })

  it.each([
    ['a name twice', '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}'],
    ['a prototype', '{"mcpServers":{"__proto__":{"command":"x"}}}'],
    ['a comment', '{"mcpServers":{} // no\n}'],
    ['no end of nesting', `{"mcpServers":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
  ])('is rejected with %s', async (_, text) => {
    const { session } = await openSession([], {}, { '.mcp.json': text })
    await expect(session.mcpFile()).rejects.toThrow('cannot be used')
  })

  it('has only the variables that the session was given', async () => {
    process.env['CAPSTAN_TEST_SECRET'] = 'hunter2-hunter2'
    const text = JSON.stringify({
      mcpServers: {
        a: { command: 'x', env: { A: '${CAPSTAN_TEST_SECRET}' } },
        b: { command: 'x', args: ['${B:-c}'] },
      },
    })
    const { session } = await openSession([], {}, { '.mcp.json': text })
    const shown = await session.mcpFile()
    delete process.env['CAPSTAN_TEST_SECRET']
    expect(shown?.servers).toMatchObject([{ name: 'b', runs: 'x c', confined: true }])
    expect(shown?.problems[0]).toContain('CAPSTAN_TEST_SECRET')
    expect(JSON.stringify(shown)).not.toContain('hunter2')
  })
})
