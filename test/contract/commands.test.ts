import { describe, expect, it } from 'vitest'
import { bodyOf, calls, eventsOf, openSession } from './open-session.js'

describe('slash commands', () => {
  it('are invoked through send, as documented', async () => {
    const { server, session } = await openSession([])
    session.registerCommand('docs_status', 'Return docs command status', (args, ctx) => {
      return `status args=${args}; session=${ctx.sessionId}; workspace=${ctx.workspace}`
    })
    expect(session.listCommands()).toContainEqual({
      name: 'docs_status',
      description: 'Return docs command status',
    })
    const result = await session.send('/docs_status check')
    expect(result.text).toBe(
      `status args=check; session=${session.sessionId}; workspace=${session.workspace}`,
    )
    expect(result).toMatchObject({ promptTokens: 0, completionTokens: 0, totalTokens: 0, toolCallsCount: 0 })
    expect(session.history()).toEqual([])
    expect(server.requests).toHaveLength(0)
  })

  it('emit their text once in a stream', async () => {
    const { session } = await openSession([], {
      commands: [{ name: 'hello', description: 'Say hello', handler: () => 'hello there' }],
    })
    const events = await eventsOf(session, '/hello')
    expect(events.flatMap((event) => ('text' in event ? [event.text] : [])).join('')).toBe('hello there')
    expect(events.at(-1)).toMatchObject({
      type: 'agent_end',
      result: { text: 'hello there', totalTokens: 0 },
    })
  })

  it('are listed in order, with the built-in ones', async () => {
    const { session } = await openSession([])
    const names = session.listCommands().map(({ name }) => name)
    expect(names).toEqual([...names].sort())
    expect(names).toEqual(
      expect.arrayContaining(['clear', 'compact', 'cost', 'help', 'history', 'mcp', 'model', 'tools']),
    )
  })

  it.each([
    ['/help', ['/help', '/model']],
    ['/model', ['Current model: openai/docs-model']],
    ['/cost', ['Model: openai/docs-model', 'Tokens: 5']],
    ['/history', ['Messages: 2', 'Session:']],
    ['/tools', ['Tools:', 'Builtin', 'bash']],
  ])('return the expected text: %s', async (command, words) => {
    const { session } = await openSession([{ text: 'hi', usage: { inputTokens: 3, outputTokens: 2 } }])
    await session.send('hello')
    const before = session.history()
    const { text } = await session.send(command)
    for (const word of words) expect(text).toContain(word)
    expect(session.history()).toEqual(before)
  })

  it('/model changes the model for later prompts', async () => {
    const { server, session } = await openSession(['a', 'b'])
    expect((await session.send('/model openai/docs-alt')).text).toContain('Current model: openai/docs-alt')
    await session.send('hi')
    expect(bodyOf(server, 0).model).toBe('docs-alt')
    expect((await session.send('/model openai/none')).text).toMatch(/failed.*none/)
    await session.send('hi')
    expect(bodyOf(server, 1).model).toBe('docs-alt')
  })

  it('/clear removes the conversation', async () => {
    const { server, session } = await openSession(['one', 'two'])
    await session.send('remember the token')
    expect((await session.send('/clear')).text).toContain('2 messages')
    expect(session.history()).toEqual([])
    await session.send('what now?')
    expect(JSON.stringify(bodyOf(server, 1).messages)).not.toContain('remember the token')
  })

  it('/compact replaces what the model sees by a summary and keeps the history', async () => {
    const { server, session } = await openSession(['first answer '.repeat(300), 'THE SUMMARY', 'next'])
    await session.send('begin')
    const before = session.history()
    expect((await session.send('/compact')).text).toMatch(/Compacted: 2 messages became 1/)
    expect(session.history()).toEqual(before)
    await session.send('continue')
    const texts = JSON.stringify(bodyOf(server, 2).messages)
    expect(texts).toContain('THE SUMMARY')
    expect(texts).not.toContain('first answer first answer')
  })

  it('/compact has nothing to do on a new session', async () => {
    const { session } = await openSession([])
    expect((await session.send('/compact')).text).toBe('Nothing was compacted: the conversation is empty.')
  })

  it('that are unknown are reported with the documented error', async () => {
    const { server, session } = await openSession([])
    const { text } = await session.send('/hlep me')
    expect(text).toContain('Unknown command: /hlep\nType /help for available commands.')
    expect(text).toContain('/help?')
    expect(server.requests).toHaveLength(0)
  })

  it('are distinguished from text about files', async () => {
    const { server, session } = await openSession(['ok'])
    await session.send('/etc/hosts is a file')
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no luck')
      },
      "command 'x' failed: no luck",
    ],
    ['hangs', () => new Promise<string>(() => undefined), "command 'x' timed out after 30ms"],
    ['gives no text', () => 3 as never, "command 'x' must return a string"],
  ])('answer with an error text when a handler %s', async (_, handler, words) => {
    const { session } = await openSession(['fine'])
    session.registerCommand('x', 'X', handler, 30)
    expect((await session.send('/x')).text).toBe(words)
    expect((await session.send('hi')).text).toBe('fine')
  })

  it('are cancelled like every run', async () => {
    const { session } = await openSession([])
    session.registerCommand('wait', 'Wait', () => new Promise<string>(() => undefined))
    const waiting = session.send('/wait').catch((error: Error) => error)
    expect(session.cancel()).toBe(true)
    expect(await waiting).toMatchObject({ code: 'cancelled' })
  })

  it('can be async and use tools and history', async () => {
    const { session } = await openSession([calls(['ls', {}]), 'done'])
    await session.send('x')
    session.registerCommand(
      'facts',
      'Facts',
      async (_, ctx) => `${ctx.model} ${ctx.historyLen} ${ctx.toolNames.includes('bash')}`,
    )
    expect((await session.send('/facts')).text).toBe('openai/docs-model 4 true')
  })
})
