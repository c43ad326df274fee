// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of a file look like that
import { createServer } from 'node:http'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { McpServerOptions } from '../../src/mcp/server-options.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import {
  configFor,
  eventsOf,
  makeWorkspace,
  ofType,
  openServer,
  openSession,
  type Script,
  systemPromptOf,
  whenDone,
} from '../contract/open-session.js'
import {
  describeWithBubblewrap,
  describeWithEachSandbox,
  refusedWrites,
} from '../security/sandbox/support/needs-bubblewrap.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { eventually } from './support.js'

const limit = 120_000
const world = fileURLToPath(new URL('world-server.mjs', import.meta.url))
const server: McpServerOptions = { name: 'world', command: process.execPath, args: [world] }
/** Where the server and Node are: a sandbox may hide them. */
const installed = [dirname(world), dirname(process.execPath)]

type World = {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly read?: string
  readonly write?: string
  readonly fetch?: string
}

async function look(session: Session, args: object = {}): Promise<World> {
  const { output, exitCode } = await session.tool('mcp__world__look', args)
  expect(exitCode, output).toBe(0)
  return JSON.parse(output) as World
}

/** An address of this machine that answers, as one of the network would. */
async function openAddress(): Promise<string> {
  const http = createServer((_, response) => response.end('over the network'))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  whenDone(() => new Promise((resolve) => http.close(resolve)))
  return `http://127.0.0.1:${(http.address() as { port: number }).port}/`
}

/** With a configuration in ACL, next to a model that answers from the script. */
async function openConfigured(
  acl: string,
  options: SessionOptions = {},
  files: Readonly<Record<string, string>> = {},
): Promise<{ readonly session: Session; readonly agent: Agent; readonly root: string }> {
  const { root, userDir } = await makeWorkspace(files)
  const agent = await Agent.create(acl, { userDir, env: {} })
  whenDone(() => agent.close())
  return { agent, root, session: agent.session(root, { sandbox: 'auto', ...options }) }
}

describe('a server that the host names', { timeout: limit }, () => {
  const ways: readonly [string, () => Promise<Session>][] = [
    [
      'session.addMcp',
      async () => {
        const { session } = await openSession([], { sandbox: 'auto' })
        await session.addMcp(server)
        return session
      },
    ],
    [
      'session.addMcpServer',
      async () => {
        const { session } = await openSession([], { sandbox: 'required' })
        await session.addMcpServer('world', 'stdio', process.execPath, [world])
        return session
      },
    ],
    [
      'the option mcpServers',
      async () => (await openSession([], { sandbox: 'auto', mcpServers: { world: server } })).session,
    ],
    [
      'the configuration',
      async () => {
        const acl = `mcp_servers "world" { command = "${process.execPath}" args = ["${world}"] }`
        return (await openConfigured(acl)).session
      },
    ],
  ]

  it.each(ways)('starts as written, with network and the home directory of the user: %s', async (_, open) => {
    process.env['CAPSTAN_TEST_API_KEY'] = 'sk-not-for-servers'
    whenDone(async () => void delete process.env['CAPSTAN_TEST_API_KEY'])
    const session = await open()
    const written = join(temporaryDirectory(), 'note')
    const found = await look(session, { fetch: await openAddress(), write: written, read: world })
    expect(found).toMatchObject({
      home: homedir(),
      cwd: session.workspace,
      fetch: 'over the network',
      write: 'written',
      read: expect.stringContaining('says what its program has'),
    })
    // The user's surroundings, and none of the host's keys (SEC-181).
    expect(found.env).toMatchObject({ HOME: homedir(), PATH: process.env['PATH'] })
    expect(JSON.stringify(found.env)).not.toContain('sk-not-for-servers')
    expect(await session.mcpStatus()).toMatchObject([
      { name: 'world', connected: true, confined: false, sandbox: 'none' },
    ])
  })

  it('has the variables and the directory of its entry, wherever that is', async () => {
    const { session } = await openSession([])
    const cwd = temporaryDirectory()
    const env = { HOME: '/elsewhere', ENV: 'production', TOKEN: 'tok-123456' }
    await session.addMcp({ ...server, cwd, env })
    expect(await look(session)).toMatchObject({ cwd, env })
  })

  it('is described to the model with the text of the host', async () => {
    const described = { ...server, description: 'Looks at the world.\nUse it first.' }
    const { session, server: model } = await openSession(['ok'], { mcpServers: [described] })
    await session.send('go')
    expect(systemPromptOf(model)).toContain('- mcp__world__*: Looks at the world.\nUse it first.')
  })
})

describeWithBubblewrap('a confined server', () => {
  const confined = { ...server, sandbox: 'workspace', readOnly: installed } as const

  it('has only the workspace, also in a session without a sandbox of its own', async () => {
    const { session, root } = await openSession([], { sandbox: 'off' }, { 'a.txt': 'here' })
    await session.addMcp(confined)
    const outside = join(temporaryDirectory(), 'note')
    const inside = join(root, 'note')
    const url = await openAddress()
    const found = await look(session, { read: join(root, 'a.txt'), write: inside, fetch: url })
    expect(found).toMatchObject({ read: 'here', write: expect.stringMatching(/^failed/) })
    expect(found.fetch).toMatch(/^failed/)
    expect(found.home).not.toBe(homedir())
    expect((await look(session, { write: outside })).write).toMatch(/^failed/)
    expect(await session.mcpStatus()).toMatchObject([{ confined: true, sandbox: 'bubblewrap' }])
  })

  it('has what its entry grants: hosts, directories and paths', async () => {
    const url = await openAddress()
    const { session, root } = await openSession([], {}, { 'out/keep': '' })
    const { port } = new URL(url)
    await session.addMcp({ ...confined, allowHosts: [`127.0.0.1:${port}`], writable: ['out'] })
    expect((await look(session, { write: join(root, 'out/note') })).write).toBe('written')
    expect((await look(session, { write: join(root, 'note') })).write).toMatch(/^failed/)
  })

  it.each(['allowHosts', 'writable', 'readOnly'] as const)('is every server that names %s', async (name) => {
    const { session } = await openSession([])
    const given = { allowHosts: ['a.test'], writable: ['.'], readOnly: installed }[name]
    const own = name === 'readOnly' ? {} : { readOnly: installed }
    await session.addMcp({ ...server, ...own, [name]: given })
    expect(await session.mcpStatus()).toMatchObject([{ confined: true, sandbox: 'bubblewrap' }])
  })

  it('can be configured in the same way', async () => {
    const places = installed.map((place) => `"${place}"`).join(', ')
    const { session } = await openConfigured(
      `mcp_servers "world" { command = "${process.execPath}" args = ["${world}"] sandbox = "workspace" read_only = [${places}] }`,
      { sandbox: 'off' },
    )
    expect((await look(session)).home).not.toBe(homedir())
    expect(await session.mcpStatus()).toMatchObject([{ confined: true, sandbox: 'bubblewrap' }])
  })

  const wrong: readonly [object, string][] = [
    [{ sandbox: 'on' }, "'sandbox' of an MCP server must be 'workspace' or 'off'"],
    [{ sandbox: true }, "'sandbox' of an MCP server must be a string"],
    [
      { sandbox: 'off', allowHosts: ['a.test'] },
      "'allowHosts' of an MCP server has no effect with sandbox 'off'",
    ],
    [{ allowHosts: 'a.test' }, "'allowHosts' of an MCP server must be a list of strings"],
    [{ allowHosts: ['https://a.test'] }, '"https://a.test" is not a host to allow'],
    [{ allowHosts: ['*'] }, '"*" is not a host to allow'],
    [
      { writable: ['../other'] },
      "'writable' of an MCP server must be a list of directories inside the workspace",
    ],
    [{ writable: ['a/../../b'] }, 'inside the workspace'],
    [{ writable: [''] }, "'writable' of an MCP server must be a list of paths"],
    [{ readOnly: [1] }, "'readOnly' of an MCP server must be a list of strings"],
    [{ enabled: 'false' }, "'enabled' of an MCP server must be true or false"],
    [
      { command: undefined, args: undefined, url: 'https://a.test', sandbox: 'workspace' },
      'not to an address',
    ],
  ]

  it.each(wrong)('is rejected with an invalid value: %j', async (more, words) => {
    const { session, agent, root } = await openSession([])
    await expect(session.addMcp({ ...server, ...more } as never)).rejects.toThrow(words)
    const options = { mcpServers: [{ ...server, ...more }] } as never
    expect(() => agent.session(root, options)).toThrow(words)
  })

  it.each([
    ['sandbox = "on"', 'sandbox'],
    ['sandbox = "off" writable = ["."]', "'writable' of an MCP server has no effect"],
    ['allow_hosts = ["http://a"]', 'is not a host to allow'],
    ['writable = ["../x"]', 'inside the workspace'],
  ])('is rejected in a configuration too: %s', async (fields, words) => {
    await expect(Agent.create(`mcp_servers "world" { command = "x" ${fields} }`)).rejects.toThrow(words)
  })

  it.each([
    [{ writable: ['missing'] }, /writable of the server names "missing": .* is not a directory/],
    [{ writable: ['link'] }, /writable of the server names "link": .*leads outside/],
    [
      { readOnly: ['/nowhere/at/all'] },
      /readOnly of the server names "\/nowhere\/at\/all": .* does not exist/,
    ],
    [{ cwd: '/' }, /leads outside the workspace/],
  ])('does not start with a path that does not exist: %j', async (more, words) => {
    const { session, root } = await openSession([])
    const { symlink } = await import('node:fs/promises')
    await symlink('/', join(root, 'link'))
    await expect(session.addMcp({ ...confined, ...more })).rejects.toThrow(words)
  })
})

describe('a server that does not start', { timeout: limit }, () => {
  /** Complains in twelve lines, with a secret among them, and gives up. */
  const complaint =
    'for (let at = 1; at <= 12; at++) console.error(`line ${at}${at === 12 ? " " + process.env.TOKEN : ""}`); process.exit(7)'
  const broken: McpServerOptions = {
    name: 'broken',
    command: process.execPath,
    args: ['-e', complaint],
    env: { TOKEN: 'tok-123456' },
  }
  const words =
    /mcp server broken is unavailable: it ended with exit code 7; it said: line 1 \| line 2 \| line 3 \| line 4 \| line 5 \| … \| line 9 \| line 10 \| line 11 \| line 12 \[hidden\]; its command is: \S*node -e for/

  it('is reported with command, exit code and the lines it wrote, in events, status and /mcp', async () => {
    const isDown = async (): Promise<boolean> => (await session.mcpStatus())[0]?.state === 'down'
    const script: Script = async () => {
      // However slow the machine is: the run continues until the server has failed.
      await eventually(isDown)
      return 'done'
    }
    const { session } = await openSession(script, { mcpServers: [broken] })
    const notices = ofType(await eventsOf(session, 'go'), 'notice')
    expect(notices.at(-1)).toMatchObject({ source: 'mcp broken', message: expect.stringMatching(words) })
    const [status] = await session.mcpStatus()
    expect(status).toMatchObject({
      name: 'broken',
      connected: false,
      state: 'down',
      confined: false,
      toolCount: 0,
      error: expect.stringContaining('exit code 7'),
      failure: {
        command: expect.stringContaining('node -e'),
        exitCode: 7,
        stderr: [
          ...['line 1', 'line 2', 'line 3', 'line 4', 'line 5', '…'],
          ...['line 9', 'line 10', 'line 11', 'line 12 [hidden]'],
        ],
      },
    })
    expect(status?.failure).not.toHaveProperty('withheld')
    expect(await session.mcps()).toEqual(await session.mcpStatus())
    const { text } = await session.send('/mcp')
    expect(text).toMatch(/^MCP servers: 1\n {2}broken: down: it ended with exit code 7; it said: line 1/)
  })

  it('is listed in /mcp without an earlier run', async () => {
    const { session } = await openSession([], { mcpServers: [broken, server] })
    await eventually(async () => !(await session.send('/mcp')).text.includes('connecting'))
    expect((await session.send('/mcp')).text).toMatch(
      /broken: down: it ended with exit code 7[\s\S]*world: 1 tool$/,
    )
  })

  it('is rejected when it is added, and listed until it is removed or tried again', async () => {
    const { session } = await openSession([])
    const error = await session.addMcp(broken).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'mcp_unavailable',
      message: expect.stringMatching(words),
      failure: { exitCode: 7 },
    })
    expect(await session.mcps()).toMatchObject([{ name: 'broken', state: 'down', connected: false }])
    expect(await session.removeMcp('broken')).toBe(true)
    expect(await session.mcps()).toEqual([])
    await session.addMcp(broken).catch(() => undefined)
    await session.addMcp({ ...server, name: 'broken' })
    expect(await session.mcps()).toMatchObject([{ name: 'broken', state: 'connected' }])
  })

  it('is reported when it hangs, with its output so far', async () => {
    const script = 'console.error("Set GITHUB_TOKEN first."); setInterval(() => {}, 1000)'
    const { session } = await openSession([])
    const hanging = { name: 'h', command: process.execPath, args: ['-e', script], startTimeoutMs: 1_500 }
    await expect(session.addMcp(hanging)).rejects.toThrow(
      /no answer within 1500 ms; it said: Set GITHUB_TOKEN first\.; its command is: /,
    )
  })

  it.each([
    [
      { command: 'no-such-program-here' },
      /mcp server n is unavailable: .*no-such-program-here.*its command is: no-such-program-here$/s,
    ],
    [{ command: 'true' }, /it ended with exit code 0; its command is: true$/],
    [
      { url: 'http://127.0.0.1:9/mcp' },
      /mcp server n is unavailable: .*its address is: http:\/\/127\.0\.0\.1:9$/s,
    ],
  ])('is reported whatever the reason: %j', async (given, message) => {
    const { session } = await openSession([])
    await expect(session.addMcp({ name: 'n', ...given })).rejects.toThrow(message)
    expect(await session.mcps()).toMatchObject([{ name: 'n', state: 'down' }])
  })
})

describeWithEachSandbox('a confined server that does not start', (sandbox) => {
  it('is reported with what the sandbox withheld', async () => {
    const script = 'require("node:fs").writeFileSync("x", "")'
    const { session } = await openSession([], { sandbox })
    const error = await session
      .addMcp({
        name: 'w',
        command: process.execPath,
        args: ['-e', script],
        sandbox: 'workspace',
        readOnly: installed,
      })
      .catch((thrown: Error) => thrown)
    const { message } = error as Error
    expect(message).toMatch(new RegExp(`exit code 1; it said: .*${refusedWrites[sandbox]}`))
    expect(message).toContain(
      `the sandbox withheld the network, the home directory and temporary files except ${installed.join(', ')}, and all writing (allowHosts, writable and readOnly`,
    )
    expect(await session.mcps()).toMatchObject([
      { confined: true, failure: { withheld: expect.any(String) } },
    ])
  })
})

describeWithBubblewrap('a server of .mcp.json', () => {
  const entry = { command: process.execPath, args: [world], readOnly: installed }
  const fileWith = (more: object) => JSON.stringify({ mcpServers: { world: { ...entry, ...more } } })

  it('is confined once it is confirmed, as the confirmation says', async () => {
    const text = fileWith({ env: { NODE_OPTIONS: '--no-deprecation', TOKEN: '${TOKEN}' } })
    const options = { sandbox: 'off', env: { TOKEN: 'tok-123456' } } as const
    const { session } = await openSession([], options, { '.mcp.json': text })
    const shown = await session.mcpFile()
    expect(shown?.servers).toMatchObject([
      {
        name: 'world',
        by: 'stdio',
        confined: true,
        withheld: expect.stringContaining('the network, the home directory'),
        // As the file has them: code may be among them, and no secret is.
        env: { NODE_OPTIONS: '--no-deprecation', TOKEN: '${TOKEN}' },
      },
    ])
    await session.confirmMcpFile(shown?.confirmation ?? '')
    expect((await look(session)).home).not.toBe(homedir())
    expect(await session.mcpStatus()).toMatchObject([{ confined: true, sandbox: 'bubblewrap' }])
  })

  it('starts as written when its own text says so, and the confirmation shows that', async () => {
    const text = fileWith({ sandbox: 'off', readOnly: undefined })
    const { session } = await openSession([], {}, { '.mcp.json': text })
    const shown = await session.mcpFile()
    expect(shown?.servers).toMatchObject([{ name: 'world', confined: false }])
    expect(await session.mcpStatus()).toEqual([])
    await session.confirmMcpFile(shown?.confirmation ?? '')
    expect((await look(session)).home).toBe(homedir())
  })

  it('never runs outside of the workspace', async () => {
    const text = fileWith({ sandbox: 'off', readOnly: undefined, cwd: '/' })
    const { session } = await openSession(['done'], {}, { '.mcp.json': text })
    await session.confirmMcpFile((await session.mcpFile())?.confirmation ?? '')
    await session.send('go')
    expect(await session.mcpStatus()).toMatchObject([{ error: expect.stringContaining('leads outside') }])
  })

  it('is skipped, with the reason, for invalid values', async () => {
    const { session } = await openSession([], {}, { '.mcp.json': fileWith({ sandbox: 'maybe' }) })
    expect(await session.mcpFile()).toMatchObject({
      servers: [],
      problems: [expect.stringContaining("'sandbox' of an MCP server must be 'workspace' or 'off'")],
    })
  })
})

describe('servers of the configuration', { timeout: limit }, () => {
  const acl = (url: string): string => `
    ${configFor(`${url}/v1`)}
    mcp_servers "world" { command = "${process.execPath}" args = ["${world}", "3"] description = "Looks." }
    mcp_servers "broken" { command = "false" }
    mcp_servers "off" { command = "false" enabled = false }`

  it('have their tools in sessions that start after refreshMcpTools, before any connection', async () => {
    const model = await openServer(['done'])
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(acl(model.url), { userDir, env: {} })
    whenDone(() => agent.close())
    const before = agent.session(root)
    await agent.refreshMcpTools()
    const own = ['mcp__world__look', 'mcp__world__extra0', 'mcp__world__extra1']
    expect(before.toolNames().filter((name) => name.startsWith('mcp__'))).toEqual([])
    const session = agent.session(root)
    expect(session.toolNames().filter((name) => name.startsWith('mcp__'))).toEqual(own)
    expect(session.toolDefinitions().map(({ name }) => name)).toEqual(expect.arrayContaining(own))
    expect(await session.mcpStatus()).toMatchObject([
      { name: 'world', state: 'idle', connected: false, toolCount: 3 },
      { name: 'broken', state: 'down', error: expect.stringContaining('exit code 1') },
      { name: 'off', state: 'disabled' },
    ])
    // The session has a connection of its own, in its own workspace.
    expect((await look(session)).cwd).toBe(session.workspace)
    expect((await session.send('go')).text).toBe('done')
    const shown = JSON.stringify(model.requests[0]?.body)
    for (const name of own) expect(shown).toContain(`"${name}"`)
  })

  it('are disconnected when the agent is closed while it queries them', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      `mcp_servers "h" { command = "${process.execPath}" args = ["-e", "setInterval(() => {}, 1000)"] }`,
      { userDir, env: {}, cwd: root },
    )
    const asked = agent.refreshMcpTools()
    await agent.close()
    await asked
    await expect(agent.refreshMcpTools()).rejects.toThrow('closed')
  })
})
