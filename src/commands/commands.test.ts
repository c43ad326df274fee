import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseCommand } from '../feature/parse-command.js'
import type { CommandContext, CommandSession } from './command.js'
import { createCommands } from './commands.js'
import { CommandError } from './errors.js'

type Fake = CommandSession & { state: { model: string; messages: number; compacted: boolean } }

function fakeSession(more: Partial<CommandContext> = {}): Fake {
  const state = { model: 'openai/small', messages: 7, compacted: false }
  return {
    state,
    context: () => ({
      sessionId: 's1',
      workspace: '/ship',
      model: state.model,
      historyLen: state.messages,
      totalTokens: 1_234_567,
      totalCost: 0.12345,
      toolNames: ['read', 'bash', 'mcp__echo__say', 'mine'],
      mcpServers: [{ name: 'echo', toolCount: 1 }],
      ...more,
    }),
    usage: () => ({ promptTokens: 1_234_000, completionTokens: 567 }),
    mcpServers: async () =>
      (more.mcpServers ?? [{ name: 'echo', toolCount: 1 }]).map((server) => ({
        connected: true,
        state: 'connected',
        confined: false,
        ...server,
      })),
    isBuiltinTool: (name) => name === 'read' || name === 'bash',
    setModel: (name) => {
      if (!name.includes('/')) throw new Error(`no model "${name}"`)
      state.model = name
    },
    compact: async () => {
      if (state.compacted) return undefined
      state.compacted = true
      return { beforeMessages: 7, afterMessages: 2 }
    },
    contextUsage: async () => ({
      model: state.model,
      windowTokens: 1_000,
      windowAssumed: false,
      usedTokens: 250,
      counted: false,
      parts: [
        { name: 'system', tokens: 100, count: 1, largest: [] },
        { name: 'files', tokens: 50, count: 1, largest: [{ name: 'a\nb', tokens: 50 }] },
        { name: 'history', tokens: 100, count: 2, largest: [] },
      ],
      compaction: { auto: false, atTokens: 800, pruneFreesTokens: 0, summaryReplacesTokens: 100 },
    }),
    clearHistory: () => {
      state.messages = 0
    },
  }
}

describe('parseCommand', () => {
  it.each<[string, { name: string; args: string } | undefined]>([
    ['/help', { name: 'help', args: '' }],
    ['/docs_status check', { name: 'docs_status', args: 'check' }],
    ['/x   two  words \n', { name: 'x', args: 'two  words' }],
    ['/x\nmore\nlines', { name: 'x', args: 'more\nlines' }],
    ['/model openai/gpt', { name: 'model', args: 'openai/gpt' }],
    ['/a-b_C9 /etc/passwd', { name: 'a-b_C9', args: '/etc/passwd' }],
    ['/etc/passwd what is this?', undefined],
    ['/etc/', undefined],
    ['/main.ts is broken', undefined],
    ['/help!', undefined],
    ['/', undefined],
    ['/ help', undefined],
    ['//help', undefined],
    [' /help', undefined],
    ['say /help', undefined],
    ['', undefined],
    [`/${'x'.repeat(65)}`, undefined],
  ])('%j', (text, expected) => {
    expect(parseCommand(text)).toEqual(expected)
  })

  it('parses what formatting a command produced', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/)
    fc.assert(
      fc.property(name, fc.string(), (word, rest) => {
        expect(parseCommand(`/${word} ${rest}`)).toEqual({ name: word, args: rest.trim() })
        expect(parseCommand(`/${word}`)).toEqual({ name: word, args: '' })
        expect(parseCommand(`/${word}/${rest}`)).toBeUndefined()
      }),
    )
  })
})

describe('registered commands', () => {
  it('get their arguments and the session, and answer with text', async () => {
    const commands = createCommands()
    commands.register(
      'docs_status',
      'Return docs command status',
      (args, { sessionId, workspace }) => `status args=${args}; session=${sessionId}; workspace=${workspace}`,
    )
    expect(await commands.run('/docs_status check', fakeSession())).toBe(
      'status args=check; session=s1; workspace=/ship',
    )
    expect(commands.list()).toContainEqual({ name: 'docs_status', description: 'Return docs command status' })
    expect([commands.unregister('docs_status'), commands.unregister('docs_status')]).toEqual([true, false])
    expect(commands.unregister('help')).toBe(false)
  })

  it('are listed by name with the built-in ones, and can be replaced', async () => {
    const commands = createCommands()
    commands.register('deploy', 'Old', () => 'old')
    commands.register('deploy', 'New', async () => 'new')
    expect(commands.list().map(({ name }) => name)).toEqual([
      'clear',
      'compact',
      'context',
      'cost',
      'deploy',
      'goal',
      'help',
      'history',
      'mcp',
      'model',
      'tools',
    ])
    expect(await commands.run('/deploy', fakeSession())).toBe('new')
  })

  it.each<[unknown[], RegExp]>([
    [['help', '', () => ''], /\/help is built in/],
    [['', '', () => ''], /is not a name for a command/],
    [['a b', '', () => ''], /"a b" is not a name for a command/],
    [['/x', '', () => ''], /is not a name for a command/],
    [['x', '', 'text'], /handler of \/x is not a function/],
    [['x', undefined, () => ''], /description of \/x/],
    [['x', '', () => '', 0], /timeoutMs of \/x is 0/],
    [['x', '', () => '', Number.NaN], /timeoutMs of \/x is NaN/],
  ])('are rejected when they are invalid: %j', (args, message) => {
    const register: (...given: unknown[]) => void = createCommands().register as never
    expect(() => register(...args)).toThrow(message)
    expect(() => register(...args)).toThrow(CommandError)
  })

  it('answer with the reason when they fail', async () => {
    const commands = createCommands()
    const session = fakeSession()
    commands.register('throws', '', () => {
      throw new Error('no disk')
    })
    commands.register('rejects', '', () => Promise.reject(new Error('no net')))
    commands.register('number', '', () => 7 as never)
    commands.register('nothing', '', (async () => undefined) as never)
    let seen: AbortSignal | undefined
    commands.register(
      'hangs',
      '',
      (_, __, { signal }) => {
        seen = signal
        return new Promise(() => undefined)
      },
      10,
    )
    expect(await commands.run('/throws', session)).toBe("command 'throws' failed: no disk")
    expect(await commands.run('/rejects', session)).toBe("command 'rejects' failed: no net")
    expect(await commands.run('/number', session)).toBe("command 'number' must return a string")
    expect(await commands.run('/nothing', session)).toBe("command 'nothing' must return a string")
    expect(await commands.run('/hangs', session)).toBe("command 'hangs' timed out after 10ms")
    expect(seen?.aborted).toBe(true)
  })

  it('are stopped with the run, and do not start in a run that has ended', async () => {
    const commands = createCommands()
    const run = new AbortController()
    let started = 0
    commands.register('slow', '', () => {
      started += 1
      run.abort()
      return new Promise(() => undefined)
    })
    const stopped = "command 'slow' was stopped: the run was aborted"
    expect(await commands.run('/slow', fakeSession(), { signal: run.signal })).toBe(stopped)
    expect(await commands.run('/slow', fakeSession(), { signal: run.signal })).toBe(stopped)
    expect(started).toBe(1)
  })
})

describe('the built-in commands', () => {
  const run = (text: string, session: CommandSession = fakeSession()) => createCommands().run(text, session)

  it('do not change other text', async () => {
    expect(await run('hello')).toBeUndefined()
    expect(await run('/etc/passwd')).toBeUndefined()
  })

  it('report an unknown command, and suggest the nearest one', async () => {
    expect(await run('/x')).toBe('Unknown command: /x\nType /help for available commands.')
    expect(await run('/constructor')).toMatch(/^Unknown command/)
    expect(await run('/Help')).toBe(
      'Unknown command: /Help\nType /help for available commands.\nDid you mean /help?',
    )
  })

  it('/help lists every command with what it does', async () => {
    const text = await run('/help')
    expect(text).toContain('/help')
    expect(text).toContain('/model [provider/id]  Show the model')
  })

  it('/model shows the model, and changes it', async () => {
    const session = fakeSession()
    expect(await run('/model', session)).toBe('Current model: openai/small')
    expect(await run('/model openai/large', session)).toBe('Current model: openai/large (was openai/small)')
    expect(await run('/model large', session)).toBe(`command 'model' failed: no model "large"`)
    expect(session.state.model).toBe('openai/large')
  })

  it('/cost shows tokens and money', async () => {
    expect(await run('/cost')).toBe(
      'Model: openai/small\nTokens: 1,234,567 (1,234,000 in, 567 out)\nCost: $0.1235',
    )
    const { totalCost: _, ...context } = fakeSession().context()
    expect(await run('/cost', { ...fakeSession(), context: () => context })).toContain('Cost: unknown')
  })

  it('/history shows how long the conversation is', async () => {
    expect(await run('/history')).toBe('Session: s1\nWorkspace: /ship\nMessages: 7')
  })

  it('/tools lists tools by where they come from', async () => {
    expect(await run('/tools')).toBe(
      'Tools: 4\nBuiltin (2): bash, read\nCustom (1): mine\nMCP (1): mcp__echo__say',
    )
  })

  it('/mcp lists servers, also those that did not start, or says that there are none', async () => {
    expect(await run('/mcp')).toBe('MCP servers: 1\n  echo: 1 tool')
    const down = {
      name: 'b',
      toolCount: 0,
      connected: false,
      state: 'down',
      error: 'it ended',
      confined: true,
    }
    expect(await run('/mcp', fakeSession({ mcpServers: [down] }))).toBe(
      'MCP servers: 1\n  b: down: it ended (confined to the workspace)',
    )
    expect(await run('/mcp', fakeSession({ mcpServers: [] }))).toBe('MCP servers: none are connected.')
  })

  it('/context lists the parts of the context window, each on one line', async () => {
    expect(await run('/context')).toBe(
      [
        'Model: openai/small (window: 1,000 tokens)',
        'Used: 250 tokens, 25 % (estimated)',
        '  system   100',
        '  files     50  (1 file)',
        '    a b 50',
        '  history  100  (2 messages)',
        'Free: 750 tokens',
        'Compaction: only by /compact. It can leave out 0 tokens of old tool output,',
        '  and replace 100 tokens of messages by a summary.',
      ].join('\n'),
    )
  })

  it('/compact reports what it did, or that there was nothing to do', async () => {
    const session = fakeSession()
    expect(await run('/compact', session)).toBe('Compacted: 7 messages became 2.')
    expect(await run('/compact', session)).toBe('Nothing was compacted.')
    const broken = { ...session, compact: () => Promise.reject(new Error('no model')) }
    expect(await run('/compact', broken)).toBe("command 'compact' failed: no model")
  })

  it('/clear removes the conversation', async () => {
    const session = fakeSession()
    expect(await run('/clear', session)).toBe('History cleared: 7 messages forgotten.')
    expect(session.state.messages).toBe(0)
  })
})
