import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonValue } from '../../src/tool/json.js'
import {
  calls,
  collect,
  configFor,
  eventsOf,
  later,
  makeWorkspace,
  ofType,
  openServer,
  openSession,
  systemPromptOf,
  whenDone,
} from './open-session.js'

describe('usage', () => {
  it('counts for the session also when the run failed', async () => {
    const { session } = await openSession([
      { ...calls(['ls', {}]), usage: { inputTokens: 1000, outputTokens: 10 } },
      { status: 400, message: 'no' },
      { status: 400, message: 'no' },
    ])
    await expect(session.send('look')).rejects.toThrow()
    expect((await session.send('/cost')).text).toContain('1,010 (1,000 in, 10 out)')
  })

  it('counts requested summaries and side questions once', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 }
    const { session } = await openSession(() => ({ text: 'words', usage }))
    await session.send(`one ${'long '.repeat(400)}`)
    await session.btw('two?')
    await session.send('/compact')
    expect((await session.send('/cost')).text).toContain('330 (300 in, 30 out)')
  })
})

describe('a message to a run that then fails', () => {
  it('is in the history if it was accepted', async () => {
    const asked = later()
    const { session } = await openSession((_request, n) => {
      if (n > 0) return 'read'
      asked.resolve()
      return { status: 401, delayMs: 50 }
    })
    const failing = session.send('go')
    failing.catch(() => undefined)
    await asked.promise
    expect(session.steer('MIND THE GAP')).toBe(true)
    await expect(failing).rejects.toThrow()
    expect(JSON.stringify(session.history())).toContain('MIND THE GAP')
  })
})

describe('an empty message to a run', () => {
  it('is rejected before it reaches a model', async () => {
    const { session } = await openSession(['ok'])
    for (const nothing of ['', '  ', 42 as unknown as string])
      expect(() => session.steer(nothing)).toThrow(TypeError)
  })
})

describe('many concurrent operations', () => {
  const warnings: string[] = []
  const warn = ({ message }: Error): unknown => warnings.push(message)
  beforeEach(() => {
    warnings.length = 0
    process.on('warning', warn)
  })
  afterEach(() => {
    process.off('warning', warn)
  })
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  it('runs that wait with one signal cause no warning about a leak', async () => {
    const { signal } = new AbortController()
    const { session } = await openSession(() => 'ok', { signal })
    await Promise.all(Array.from({ length: 30 }, (_, n) => session.send(`${n}`, { signal })))
    await settled()
    expect(warnings).toEqual([])
  })

  it('readers of a run cause no such warning either', async () => {
    const { signal } = new AbortController()
    const { session } = await openSession([{ text: 'slowly', delayMs: 20 }])
    const stream = await session.stream('x')
    const run = await session.currentRun()
    const readers = Array.from({ length: 30 }, async () => {
      let last = ''
      for await (const { event } of session.watch(run?.id ?? '', { signal })) last = event.type
      return last
    })
    await collect(stream)
    expect(new Set(await Promise.all(readers))).toEqual(new Set(['agent_end']))
    await settled()
    expect(warnings).toEqual([])
  })

  it('calls of a round, and direct calls, cause none either', async () => {
    const read = (): [string, JsonValue] => ['read', { file_path: 'a.txt' }]
    const { session } = await openSession(
      (_request, n) => (n === 0 ? calls(...Array.from({ length: 30 }, read)) : 'ok'),
      { maxParallelTasks: 30, duplicateToolCallThreshold: 100 },
      { 'a.txt': 'a' },
    )
    await session.send('read')
    await Promise.all(Array.from({ length: 30 }, () => session.readFile('a.txt')))
    await settled()
    expect(warnings).toEqual([])
  })

  it('runs that wait all end when the session is closed', async () => {
    const { session } = await openSession(() => ({ text: 'never', delayMs: 60_000 }))
    const ended = Array.from({ length: 3 }, () => session.send('x').catch((error: Error) => error.message))
    await session.close()
    for (const message of await Promise.all(ended)) expect(message).toMatch(/Session closed/)
  })
})

describe('a session whose signal was aborted before', () => {
  it('is closed as soon as it is created, without an error', async () => {
    const rejected: unknown[] = []
    const onRejection = (error: unknown): unknown => rejected.push(error)
    process.on('unhandledRejection', onRejection)
    const { agent, root } = await openSession(['never'])
    const session = agent.session(root, { sessionId: 'late', signal: AbortSignal.abort() })
    expect(session.isClosed).toBe(true)
    expect(await agent.listSessions()).not.toContain('late')
    await expect(session.send('x')).rejects.toThrow(/Session closed/)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onRejection)
    expect(rejected).toEqual([])
  })
})

describe('a hook that no caller waits for', () => {
  it('delays close() for a moment only', async () => {
    const { session } = await openSession(['ok'])
    session.registerHook(
      'slow',
      'post_response',
      null,
      { asyncExecution: true },
      () => new Promise(() => undefined),
    )
    await session.send('x')
    await session.close()
  })
})

describe('a run on top of another history', () => {
  it('leaves no position in the log to resume from', async () => {
    const store = new MemorySessionStore()
    const { session } = await openSession((_request, n) => (n === 1 ? calls(['ls', {}]) : 'ok'), {
      sessionStore: store,
      sessionId: 'aside',
    })
    await session.send('hello')
    await session.send('look', [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }])
    await session.save()
    const state = store.readSync?.('aside')
    expect([...(state?.records ?? [])].filter(({ type }) => type === 'checkpoint')).toEqual([])
  })
})

describe('user_instructions_dir', () => {
  it('is the directory of the user’s own instructions', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const own = join(base, 'own')
    await mkdir(own)
    await writeFile(join(own, 'AGENTS.md'), 'Measure twice.')
    const server = await openServer(['ok'])
    const config = `user_instructions_dir = "${own}"\n${configFor(`${server.url}/v1`)}`
    const agent = await Agent.create(config, { userDir, env: {} })
    whenDone(() => agent.close())
    await agent.session(root).send('x')
    expect(systemPromptOf(server)).toContain('Measure twice.')
  })
})

describe('bytes that a tool returns', () => {
  const giving = (data: unknown) =>
    createJsonTool({
      name: 'give',
      description: 'Gives something.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      execute: () => data,
    })
  const shown = async (data: unknown): Promise<string> => {
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create({}, { userDir })
    whenDone(() => agent.close())
    const model = scriptedModel([{ toolCalls: [{ name: 'give', args: {} }] }, 'ok'])
    const session = agent.session(root, {
      model,
      tools: [giving(data)],
      permissionPolicy: { allow: ['give'] },
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'tool_end')[0]?.exitCode).toBe(0)
    return JSON.stringify(model.requests[1]?.chatHistory.at(-1))
  }

  it('are described as such, with the file that has them', async () => {
    const text = await shown(new Uint8Array([0, 1, 255]))
    expect(text).toContain('binary')
    expect(text).toContain('output_path')
    expect(text).not.toMatch(/\\"0\\":0/)
  })

  it('are text when they are valid text', async () => {
    expect(await shown(new TextEncoder().encode('fair wind'))).toContain('"text":"fair wind"')
  })

  it('of value zero in a text are shown by their symbol', async () => {
    expect(await shown('a\0b')).toContain('a\u2400b')
  })
})
