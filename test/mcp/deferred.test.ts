import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import type { ModelServer } from '../../src/testing/index.js'
import {
  calls,
  makeWorkspace,
  openServer,
  openSession,
  type Script,
  shownTools,
  toolResults,
  whenDone,
} from '../contract/open-session.js'
import { badServer } from './support.js'

const limit = 120_000
const world = fileURLToPath(new URL('world-server.mjs', import.meta.url))
/** A server with so many tools, with descriptions of so many characters; the model is shown the first 200 of them. */
const serverWith = (count: number, length = 10, name = 'world') => ({
  name,
  command: process.execPath,
  args: [world, `${count}`, `${length}`],
})
const allow = { permissionPolicy: { allow: ['mcp__*'] } }
const ofServers = (names: readonly string[]): string[] => names.filter((name) => name.startsWith('mcp__'))

/** A session on a model with a context window of so many tokens. */
async function openWithWindow(
  contextTokens: number,
  options: SessionOptions,
): Promise<{ readonly session: Session; readonly server: ModelServer }> {
  const server = await openServer(['done', 'done'])
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create(
    `default_model = "openai/m"
     providers "openai" { api_key = "k" base_url = "${server.url}/v1" models "m" { limit = { context = ${contextTokens} } } }`,
    { userDir, env: {} },
  )
  whenDone(() => agent.close())
  return { server, session: agent.session(root, { sandbox: 'off', ...options }) }
}

/** However slow the machine is: the servers have started, or failed, before the first run. */
async function started(session: Session): Promise<void> {
  await session.refreshMcpTools()
}

describe('tools of servers', { timeout: limit }, () => {
  it.each([
    ['20 of them, whatever they weigh', 8_000, 20, 5_000, true],
    ['21 light ones in a large window', 200_000, 21, 10, true],
    ['60 light ones in a large window', 200_000, 60, 10, true],
    ['21 in a window of which they are more than a tenth', 8_000, 21, 200, false],
    ['300 in a window of which they are more than a tenth', 200_000, 300, 200, false],
  ])('are shown directly or deferred: %s', async (_, window, count, length, direct) => {
    const { session, server } = await openWithWindow(window, { mcpServers: [serverWith(count, length)] })
    await started(session)
    await session.send('go')
    const shown = shownTools(server, 0)
    expect(ofServers(shown)).toHaveLength(direct ? count : 0)
    expect(shown.includes('tool_search')).toBe(!direct)
    // The built-in tools do not count and are never deferred.
    expect(shown).toEqual(expect.arrayContaining(['read', 'bash', 'task']))
    expect(ofServers(session.toolNames())).toHaveLength(count)
  })

  it('are counted over all servers: all tools of the first server that does not fit are deferred', async () => {
    const mcpServers = [serverWith(15, 200, 'one'), serverWith(10, 200, 'two'), serverWith(3, 200, 'three')]
    const { session, server } = await openWithWindow(8_000, { mcpServers })
    await started(session)
    await session.send('go')
    const counts = ['one', 'two', 'three'].map(
      (name) => shownTools(server, 0).filter((tool) => tool.startsWith(`mcp__${name}__`)).length,
    )
    expect(counts).toEqual([15, 0, 3])
  })

  it.each([
    ['always', 1, 0],
    ['never', 60, 60],
    ['auto', 60, 0],
  ] as const)('follow the option toolSearch: %s', async (toolSearch, count, shown) => {
    const { session, server } = await openWithWindow(8_000, {
      toolSearch,
      mcpServers: [serverWith(count, 200)],
    })
    await started(session)
    await session.send('go')
    expect(ofServers(shownTools(server, 0))).toHaveLength(shown)
  })

  it('assume a window of 128,000 tokens when it is not known', async () => {
    // About 95 tokens each: 130 of them are less than a tenth of 128,000, and 170 are less than a tenth of 200,000
    // alone.
    for (const [count, direct] of [
      [130, true],
      [170, false],
    ] as const) {
      const { session, server } = await openSession(['done'], { mcpServers: [serverWith(count, 200)] })
      await started(session)
      await session.send('go')
      expect(ofServers(shownTools(server, 0))).toHaveLength(direct ? count : 0)
    }
  })

  it.each(['sometimes', true, 1])('reject an invalid toolSearch: %j', async (toolSearch) => {
    const { agent, root } = await openSession([])
    expect(() => agent.session(root, { toolSearch } as never)).toThrow('toolSearch')
  })
})

describe('a deferred tool that is called by its exact name', { timeout: limit }, () => {
  const deferred = { toolSearch: 'always', mcpServers: [serverWith(3)] } as const

  it('is loaded, runs, and is in the list from then on', async () => {
    const script: Script = [calls(['mcp__world__extra1', {}]), calls(['mcp__world__extra1', {}]), 'done']
    const { session, server } = await openSession(script, { ...allow, ...deferred })
    await started(session)
    await session.send('go')
    expect(toolResults(server, 2)).toEqual(['called extra1', 'called extra1'])
    expect(ofServers(shownTools(server, 0))).toEqual([])
    expect(shownTools(server, 1)).toEqual([...shownTools(server, 0), 'mcp__world__extra1'])
    expect(shownTools(server, 2)).toEqual(shownTools(server, 1))
  })

  it('is found and called among 5,000 tools of one server', async () => {
    const script: Script = [
      calls(['tool_search', { query: 'extra4321' }]),
      calls(['mcp__world__extra4321', {}]),
      'done',
    ]
    const { session, server } = await openSession(script, { ...allow, mcpServers: [serverWith(5_000)] })
    await started(session)
    await session.send('go')
    expect(ofServers(session.toolNames())).toHaveLength(5_000)
    expect(ofServers(shownTools(server, 0))).toEqual([])
    expect(toolResults(server, 1)[0]).toContain('mcp__world__extra4321')
    expect(toolResults(server, 2)[1]).toBe('called extra4321')
  })

  it('follows the rules like any call: denied by a rule, and asked about without one', async () => {
    const script: Script = [
      calls(['mcp__world__extra0', {}], ['mcp__world__extra1', {}], ['mcp__world__look', { write: 5 }]),
      'done',
    ]
    const asked: string[] = []
    const { session, server } = await openSession(script, {
      ...deferred,
      permissionPolicy: { deny: ['mcp__world__extra0'], allow: ['mcp__world__look'] },
      onAsk: ({ toolName }) => {
        asked.push(toolName)
        return { decision: 'reject' } as never
      },
    })
    await started(session)
    await session.send('go')
    const [denied, refused, invalid] = toolResults(server, 1)
    expect(denied).toMatch(/is denied by the rule mcp:world:extra0/)
    expect(refused).not.toContain('called extra1')
    expect(asked).toEqual(['mcp__world__extra1'])
    expect(invalid).toContain('write')
    expect([denied, refused, invalid].join('\n')).not.toContain('Unknown tool')
  })

  it('is loaded for batches, programs and subagents too', async () => {
    const source = `export default async function run(ctx) { return (await ctx.tool('mcp__world__extra0', {})).output }`
    const script: Script = [
      calls(
        ['batch', { invocations: [{ tool: 'mcp__world__extra1', args: {} }] }],
        ['program', { type: 'script', language: 'javascript', source }],
      ),
      'done',
    ]
    const { session, server } = await openSession(script, {
      ...deferred,
      permissionPolicy: { allow: ['mcp__*', 'batch', 'program'] },
    })
    await started(session)
    await session.send('go')
    expect(toolResults(server, 1).join('\n')).toMatch(/called extra1[\s\S]*called extra0/)
  })

  it('that no server has is unknown, with the nearest name', async () => {
    const { session, server } = await openSession([calls(['mcp__world__extra9', {}]), 'done'], {
      ...allow,
      ...deferred,
    })
    await started(session)
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(
      /Unknown tool "mcp__world__extra9"\. Did you mean "mcp__world__extra/,
    )
  })

  it('is not unknown while its server is down: the error says why', async () => {
    const broken = { name: 'broken', command: process.execPath, args: ['-e', 'process.exit(3)'] }
    const { session, server } = await openSession([calls(['mcp__broken__x', {}]), 'done'], {
      ...allow,
      mcpServers: [broken],
    })
    await started(session)
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(
      /The tool "mcp__broken__x" cannot be used now: mcp server broken is unavailable: it ended with exit code 3/,
    )
  })

  it('waits for a server that is still starting', async () => {
    const { session } = await openSession([], { mcpServers: [badServer('slow-start', '1500')] })
    // A run that is cancelled at once leaves the server starting.
    await session.send({ prompt: 'go', signal: AbortSignal.timeout(100) }).catch(() => undefined)
    expect((await session.tool('mcp__bad__echo', { message: 'late' })).output).toBe('Echo: late')
  })
})
