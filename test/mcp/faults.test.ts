import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { Session } from '../../src/session/session.js'
import { calls, makeWorkspace, openSession, toolResults } from '../contract/open-session.js'
import { sharedDirectory } from '../support/temporary-directory.js'
import { badServer, eventually } from './support.js'

const limit = 120_000
const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => {
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

/**
 * Faults that end a start or a call by themselves, however long a busy machine takes. The others reach a time limit.
 */
const ends = new Set([
  ...['exit-at-start', 'error-initialize', 'odd-version', 'exit-after-initialize', 'error-list'],
  ...['exit-mid-call', 'kill-mid-call', 'long-line', 'error-result', 'tool-error'],
])

const place = sharedDirectory()
const [workspace, userDir] = [join(place, 'workspace'), join(place, 'user')]
let agent: Agent
/** Sessions that no test uses. Most tests run at the same time as others, because they wait for a time limit. */
const idle: Session[] = []
beforeAll(async () => {
  for (const path of [workspace, userDir]) mkdirSync(path)
  agent = await Agent.create({}, { userDir, env: {} })
})
afterAll(() => agent.close())

/** A test that has a session without a server. The servers that it adds are removed afterwards. */
const withSession = it.extend<{ readonly session: Session }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which other fixtures are needed
  session: async ({}, use) => {
    const session = idle.pop() ?? agent.session(workspace, { sandbox: 'off' })
    try {
      await use(session)
    } finally {
      for (const { name } of await session.mcpStatus()) await session.removeMcp(name)
      idle.push(session)
    }
  },
})

describe('FT-16: a server that cannot be started says why', { timeout: limit, concurrent: true }, () => {
  withSession.for<readonly [string, string, RegExp]>([
    [
      'exit-at-start',
      's3cr3t-value',
      /ended with exit code 1; it said: cannot start: the token \[hidden\] is wrong/,
    ],
    ['hang-initialize', '', /no answer within 1500 ms/],
    ['error-initialize', 's3cr3t-value', /not today, \[hidden\]/],
    ['initialize-nothing', '', /./],
    ['odd-version', '', /version/i],
    ['exit-after-initialize', '', /ended with exit code 3|closed/],
    ['hang-list', '', /no answer within \d+ ms/],
    ['error-list', '', /broken list/],
    ['deaf', '', /no answer within 1500 ms/],
    ['slow-start', '60000', /no answer within 1500 ms/],
  ])('%s', async ([fault, extra, words], { session }) => {
    const startTimeoutMs = ends.has(fault) ? limit : 1_500
    const error = await session
      .addMcp(badServer(fault, extra, { startTimeoutMs, env: { TOKEN: 's3cr3t-value' } }))
      .catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'McpError', message: expect.stringMatching(words) })
    expect((error as Error).message).toContain('mcp server bad is unavailable')
    expect((error as Error).message).not.toContain('s3cr3t')
    expect(await session.mcpStatus()).toMatchObject([{ name: 'bad', connected: false, state: 'down' }])
    expect(await session.readFile('.').catch((thrown: Error) => thrown.name)).toBe('ToolFailedError')
  })

  withSession('a command that does not exist', async ({ session }) => {
    const missing = session.addMcp({ name: 'x', command: '/no/such/program' })
    await expect(missing).rejects.toThrow(/mcp server x is unavailable.*exit code 127/)
  })
})

describe('FT-16: a call that fails is an error with a message', { timeout: limit, concurrent: true }, () => {
  withSession.for<readonly [string, string, RegExp]>([
    [
      'exit-mid-call',
      's3cr3t-value',
      /unavailable: it ended with exit code 7; it said: fatal: out of luck \[hidden\]/,
    ],
    ['kill-mid-call', '', /unavailable: it was ended by SIGKILL/],
    ['hang-call', '', /gave no answer within 800 ms; what it had already done may remain/],
    ['partial-json', '', /gave no answer within 800 ms/],
    ['long-line', '', /unavailable: it sent a message of more than 10485760 bytes/],
    ['wrong-id', '', /gave no answer within 800 ms/],
    ['late-answer', '5000', /gave no answer within 800 ms/],
    ['not-a-result', '', /not a result|mcp server bad/],
    ['no-result', '', /gave no answer|mcp server bad/],
    ['error-result', 's3cr3t-value', /it broke .*\[hidden\]/],
    ['tool-error', '', /the disk is full/],
    ['closes-stdout', '', /gave no answer|unavailable/],
  ])('%s', async ([fault, extra, words], { session }) => {
    const timeoutMs = ends.has(fault) ? limit : 800
    await session.addMcp(badServer(fault, extra, { timeoutMs, env: { TOKEN: 's3cr3t-value' } }))
    const result = await session.tool('mcp__bad__echo', { message: 'x' })
    expect(result).toMatchObject({ exitCode: 1, output: expect.stringMatching(words) })
    expect(result.output).not.toContain('s3cr3t')
    expect(result.output).not.toContain('\u001b')
  })

  withSession.for<readonly [string, string]>([
    ['garbage', 'Echo: x'],
    ['stderr-flood', 'Echo: x'],
    ['partial-then-whole', 'Echo: x'],
    ['split-bytes', 'ä€🔧'],
    ['duplicate-id', 'Echo: x'],
    ['stale', 'Echo: x'],
    ['change-storm', 'Echo: x'],
    ['slow-start', 'Echo: x'],
  ])('%s has no effect', async ([fault, output], { session }) => {
    await session.addMcp(badServer(fault, fault === 'slow-start' ? '500' : ''))
    expect(await session.tool('mcp__bad__echo', { message: 'x' })).toMatchObject({ output, exitCode: 0 })
    expect(await session.tool('mcp__bad__echo', { message: 'x' })).toMatchObject({ output, exitCode: 0 })
  })

  withSession.for<readonly [string, (output: string) => boolean]>([
    ['huge-result', (output: string) => output.length < 300_000],
    ['many-parts', (output: string) => output.length < 50_000],
    ['odd-content', (output: string) => output.includes('fine') && output.includes('not supported')],
  ])('%s is limited', async ([fault, isFine], { session }) => {
    await session.addMcp(badServer(fault))
    const { output } = await session.tool('mcp__bad__echo', { message: 'x' })
    expect(isFine(output)).toBe(true)
  })
})

describe('FT-16: an invalid list', { timeout: limit, concurrent: true }, () => {
  withSession.for<readonly [string, number, string | undefined]>([
    ['endless-pages', 50, 'more than 50 pages'],
    ['same-cursor', 1, 'a page that refers to itself'],
    ['tools-not-a-list', 0, undefined],
    ['bad-schemas', 3, 'left out'],
  ])('%s is cut off', async ([fault, count, problem], { session }) => {
    expect(await session.addMcp(badServer(fault))).toBe(count)
    const [status] = await session.mcpStatus()
    if (problem === undefined) expect(status?.problems).toBeUndefined()
    else expect(status?.problems?.join('\n')).toContain(problem)
  })

  withSession('a server that invents tools without end is limited to a number', async ({ session }) => {
    await session.addMcp(badServer('inventive'))
    for (let at = 0; at < 7; at++) await session.refreshMcpTools('bad')
    const [status] = await session.mcpStatus()
    expect(status?.toolCount).toBe(0)
    expect(status?.problems?.join()).toContain('keeps offering new tools')
  })
})

describe('FT-16: a server that was lost', { timeout: limit }, () => {
  it('is connected again between rounds; meanwhile the model reads that it is unavailable', async () => {
    const call = calls(['mcp__bad__echo', { message: 'x' }])
    const { session, server } = await openSession(
      [call, call, 'one', calls(['mcp__bad__echo', { message: 'calls' }]), 'two'],
      {
        permissionPolicy: { allow: ['mcp__bad'] },
        builtinTools: false,
        mcpServers: [badServer('exit-mid-call')],
      },
    )
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(/mcp server bad is unavailable: it ended with exit code 7/)
    expect(toolResults(server, 2)[1]).toMatch(
      /mcp server bad is unavailable: .* It is tried again before the next round/,
    )
    expect(await session.mcpStatus()).toMatchObject([{ connected: false, state: 'down', toolCount: 1 }])
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await session.send('continue')
    expect(toolResults(server, 4).at(-1)).toBe('1')
  })

  withSession.concurrent('includes one that only sends noise', async ({ session }) => {
    const added = await session.addMcp(badServer('garbage-forever')).catch((thrown: Error) => thrown.message)
    if (typeof added === 'string') expect(added).toContain('bytes that are not messages')
    else
      await eventually(async () => {
        const [status] = await session.mcpStatus()
        return status?.error?.includes('bytes that are not messages') === true
      })
  })

  withSession.concurrent('is connected again at once when the host requests it', async ({ session }) => {
    await session.addMcp(badServer('kill-mid-call'))
    await session.tool('mcp__bad__echo', { message: 'x' })
    expect((await session.tool('mcp__bad__echo', { message: 'pid' })).output).toContain('unavailable')
    await session.refreshMcpTools('bad')
    expect((await session.tool('mcp__bad__echo', { message: 'pid' })).output).toMatch(/^\d+$/)
  })

  withSession.concurrent('ends a call that is cancelled while the server restarts', async ({ session }) => {
    await session.addMcp(badServer('slow-start', '2500'))
    await session.disconnectIdleMcp(0)
    const stop = new AbortController()
    const call = session.tool('mcp__bad__echo', { message: 'x' }, { signal: stop.signal })
    await eventually(async () => (await session.mcpStatus())[0]?.state === 'connecting')
    stop.abort()
    await call.catch(() => undefined)
  })

  it('does not delay the start of a run, nor the answer of another server', async () => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      { mcpServers: { slow: badServer('hang-initialize') as never } } as never,
      { userDir, env: {} },
    )
    const session = agent.session(root, { sandbox: 'off' })
    await session.addMcp({ ...badServer('none'), name: 'good' })
    let slowIsOver = false
    const slow = session
      .refreshMcpTools('slow')
      .catch(() => undefined)
      .finally(() => {
        slowIsOver = true
      })
    for (let at = 0; at < 20; at++)
      expect((await session.tool('mcp__good__echo', { message: 'x' })).output).toBe('Echo: x')
    expect(slowIsOver).toBe(false)
    await agent.close()
    await slow
  })

  withSession.concurrent.for(['change-storm', 'stderr-flood'])(
    '%s of one server does not delay the answer of another',
    async (fault, { session }) => {
      await session.addMcp({ ...badServer('none'), name: 'good' })
      await session.addMcp(badServer(fault))
      for (let at = 0; at < 30; at++)
        expect((await session.tool('mcp__good__echo', { message: 'x' })).output).toBe('Echo: x')
    },
  )
})
