import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/agent.js'
import type { WatchdogCall } from '../../src/authority/watchdog.js'
import type { SessionOptions } from '../../src/session/options.js'
import { MemorySessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createTool } from '../../src/tool/create-tool.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { makeWorkspace, openSession } from './open-session.js'

const misspelt = { fs: { read: ['{workspce}/**'] } }

/** What the model receives for one call that it makes. */
async function answerTo(
  name: string,
  args: object,
  options: SessionOptions & Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const model = scriptedModel([{ toolCalls: [{ name, args: args as never }] }, 'done'])
  const { session } = await openSession([], { ...options, model }, files)
  await session.send('Go.')
  return lastResult(model)
}

function lastResult(model: ReturnType<typeof scriptedModel>): string {
  const message = model.requests.at(-1)?.chatHistory.findLast(({ role }) => role === 'tool')
  const part = message?.role === 'tool' ? message.content.at(-1)?.content[0] : undefined
  return part?.type === 'text' ? part.text : ''
}

async function agentWith(config: string | object, userDir = temporaryDirectory()): Promise<Agent> {
  const agent = await Agent.create(config as never, { userDir, env: {} })
  onTestFinished(() => agent.close())
  return agent
}

describe('invalid requirements', () => {
  const byHand = {
    name: 'old',
    requires: misspelt,
    definition: () => ({ name: 'old', description: 'd', parameters: {} }),
    call: () => 1,
  }

  it.each([
    ['a ceiling', { ceiling: misspelt }],
    ['a manifest', { manifest: { requires: misspelt } }],
    ['a tool written by hand', { tools: [byHand] }],
  ])('of %s are rejected when the session is opened, with the nearest name', async (_, options) => {
    await expect(openSession([], options)).rejects.toThrow(/\{workspace\}/)
  })

  it.each([
    ['a pattern', { ceiling: { fs: { read: ['src/['] } } }, /position/],
    ['a shape', { ceiling: { fs: { read: 'src/**' } } }, /list of strings/],
    ['a field of a ceiling', { ceiling: { file: {} } }, /"file" does not exist/],
    ['a field of a manifest', { manifest: { permission: {} } }, /permission/],
    ['a rule of a manifest', { manifest: { permissions: { deny: ['bash('] } } }, /bash/],
    ['a pattern of a tool', { tools: [{ ...byHand, requires: { fs: { read: ['src/['] } } }] }, /position/],
  ])('because of %s are rejected when the session is opened', async (_, options, words) => {
    await expect(openSession([], options as never)).rejects.toThrow(words)
  })

  it('of a tool that is registered later are rejected then', async () => {
    const { session } = await openSession([])
    expect(() => session.registerTool(byHand)).toThrow(/\{workspace\}/)
  })

  it('of a configuration are rejected when the agent is created', async () => {
    await expect(agentWith('manifest { requires { fs { read = ["{workspce}/**"] } } }')).rejects.toThrow(
      /\{workspace\}/,
    )
    await expect(agentWith({ manifest: { permissions: { deny: ['bash('] } } })).rejects.toThrow(/bash/)
  })
})

describe('a manifest', () => {
  const permissions = { deny: ['read(**/secret.txt)'] }
  const files = { 'secret.txt': 'gold', 'plain.txt': 'tin' }
  const read = { file_path: 'secret.txt' }

  it('of a session denies what no other rule can allow', async () => {
    const options = {
      manifest: { permissions },
      permissionPolicy: { allow: ['read(**/secret.txt)', 'read'] },
    }
    expect(await answerTo('read', read, options, files)).toMatch(/Refused.*denied/)
    expect(await answerTo('read', { file_path: 'plain.txt' }, options, files)).toContain('tin')
    const onAsk = { ...options, onAsk: () => ({ decision: 'always' as const }) }
    expect(await answerTo('read', read, onAsk, files)).toMatch(/Refused/)
    expect(
      await answerTo('bash', { command: 'cat secret.txt' }, { ...options, onAsk: onAsk.onAsk }, files),
    ).toMatch(/Refused/)
  })

  it('sets a default that the policy of the session can replace', async () => {
    const open = { manifest: { permissions: { defaultDecision: 'allow' as const } } }
    const write = { file_path: 'new.txt', content: 'x' }
    expect(await answerTo('write', write, open)).not.toMatch(/Refused/)
    expect(
      await answerTo('write', write, { ...open, permissionPolicy: { defaultDecision: 'deny' } }),
    ).toMatch(/Refused/)
    expect(await answerTo('write', write, { ...open, permissionPolicy: { allow: ['read'] } })).not.toMatch(
      /Refused/,
    )
  })

  it('of the configuration, of an agent file and of the session apply together, and the watchdog receives all of them', async () => {
    const { root, userDir } = await makeWorkspace(files)
    const dir = join(root, 'agents')
    mkdirSync(dir)
    writeFileSync(
      join(dir, 'clerk.yaml'),
      'name: clerk\ndescription: Reads.\nprompt: Read.\nmanifest:\n  requires:\n    net:\n      hosts: [files.example.com]\n  permissions:\n    deny: ["bash"]\n',
    )
    const agent = await agentWith(
      'manifest {\n permissions { deny = ["read(**/secret.txt)"] }\n requires { fs { read = ["{workspace}/**"] } shell = [{ cmd = "git", args = ["log"] }] }\n}',
      userDir,
    )
    const seen: WatchdogCall[] = []
    const run = async (name: string, args: object): Promise<string> => {
      const model = scriptedModel([{ toolCalls: [{ name, args: args as never }] }, 'done'])
      const session = agent.sessionForAgent(root, 'clerk', [dir], {
        model,
        sandbox: 'off',
        manifest: { permissions: { deny: ['write'] }, requires: { capabilities: ['secrets.has'] } },
        permissionPolicy: { defaultDecision: 'allow' },
        watchdog: (call) => {
          seen.push(call)
          return { action: 'allow' }
        },
      })
      await session.send('Go.')
      await session.close()
      return lastResult(model)
    }
    expect(await run('read', read)).toMatch(/Refused/)
    expect(await run('bash', { command: 'true' })).toMatch(/Refused/)
    expect(await run('write', { file_path: 'a', content: 'b' })).toMatch(/Refused/)
    expect(await run('read', { file_path: 'plain.txt' })).toContain('tin')
    expect(seen.at(-1)?.manifest).toEqual({
      requires: {
        fs: { read: ['{workspace}/**'] },
        net: { hosts: ['files.example.com'] },
        shell: [{ cmd: 'git', args: ['log'] }],
        capabilities: ['secrets.has'],
      },
      permissions: { deny: ['read(**/secret.txt)', 'bash', 'write'], ask: [], allow: [] },
    })
  })

  it('of an agent file adds denies to the rules of the host, and no allows', async () => {
    const { root, userDir } = await makeWorkspace()
    const dir = join(root, 'agents')
    mkdirSync(dir)
    writeFileSync(
      join(dir, 'clerk.yaml'),
      'name: clerk\nprompt: Work.\nmanifest:\n  permissions:\n    allow: ["bash(touch *)", "fs.write"]\n    deny: ["write"]\n    default: allow\n',
    )
    const touch = async (config: object, options: SessionOptions): Promise<string> => {
      const model = scriptedModel([
        { toolCalls: [{ name: 'bash', args: { command: 'touch made.txt' } }] },
        'done',
      ])
      const session = (await agentWith(config, userDir)).sessionForAgent(root, 'clerk', [dir], {
        model,
        sandbox: 'off',
        ...options,
      })
      await session.send('Go.')
      return lastResult(model)
    }
    const host = { ask: ['bash'] }
    expect(await touch({}, { permissionPolicy: host })).toMatch(/Refused/)
    expect(await touch({}, { manifest: { permissions: host } })).toMatch(/Refused/)
    expect(await touch({ manifest: { permissions: host } }, {})).toMatch(/Refused/)
    expect(await touch({}, {})).not.toMatch(/Refused/)
  })

  it('applies to subagents, and its denies apply again when the session is resumed without it', async () => {
    const { root, userDir } = await makeWorkspace(files)
    const agent = await agentWith({}, userDir)
    const store = new MemorySessionStore()
    const readIt = { toolCalls: [{ name: 'read', args: read }] }
    const model = scriptedModel([
      { toolCalls: [{ name: 'task', args: { agent: 'helper', description: 'd', prompt: 'read it' } }] },
      readIt,
      'refused',
      'done',
    ])
    const first = agent.session(root, {
      model,
      sandbox: 'off',
      sessionId: 's',
      sessionStore: store,
      manifest: { permissions },
      workerAgents: [{ name: 'helper', description: 'Helps.', prompt: 'Help.' }],
      permissionPolicy: { defaultDecision: 'allow' },
    })
    await first.send('Go.')
    expect(JSON.stringify(model.requests[2])).toMatch(/Refused/)
    expect(JSON.stringify(model.requests)).not.toContain('gold')
    await first.close()
    const again = scriptedModel([readIt, 'done'])
    const options = { model: again, sandbox: 'off', sessionStore: store } as const
    await agent.resumeSession('s', { ...options, permissionPolicy: { allow: ['read'] } }).send('Go.')
    expect(lastResult(again)).toMatch(/Refused/)
  })

  it('does not give a tool more than the tool requires', async () => {
    const outside = join(temporaryDirectory(), 'note.txt')
    writeFileSync(outside, 'gold')
    const options = {
      manifest: { requires: { fs: { read: ['/**'] } } },
      permissionPolicy: { defaultDecision: 'allow' as const },
    }
    expect(await answerTo('read', { file_path: outside }, options)).toMatch(/outside the grant/)
  })
})

describe('{ad-hoc} and {user-data}', () => {
  function reader(pattern: string) {
    return createTool({
      name: 'peek',
      description: 'd',
      kind: 'read',
      input: z.object({ path: z.string() }),
      requires: { fs: { read: [pattern] } },
      touches: ({ path }) => [{ fs: 'read', path }],
      execute: async ({ path }, { runtime }) => runtime?.files?.readText(path),
    })
  }
  const setUp = () => {
    const base = realpathSync(temporaryDirectory())
    for (const name of ['open', 'other', 'data']) mkdirSync(join(base, name))
    for (const name of ['open', 'other', 'data']) writeFileSync(join(base, name, 'a.txt'), `from ${name}`)
    return { base, at: (name: string) => join(base, name, 'a.txt') }
  }
  const allow = { permissionPolicy: { defaultDecision: 'allow' as const } }

  it('are the directories of adHocFiles and userDataDir, for tools that declare them', async () => {
    const { base, at } = setUp()
    const options = { ...allow, tools: [reader('{ad-hoc}/**')], adHocFiles: [at('open')] }
    expect(await answerTo('peek', { path: at('open') }, options)).toBe('from open')
    expect(await answerTo('peek', { path: at('other') }, options)).toMatch(/outside the grant/)
    const data = { ...allow, tools: [reader('{user-data}/**')], userDataDir: join(base, 'data') }
    expect(await answerTo('peek', { path: at('data') }, data)).toBe('from data')
    expect(await answerTo('peek', { path: at('open') }, data)).toMatch(/outside the grant/)
  })

  it('are empty when nothing is open, so that calls are refused', async () => {
    const { at } = setUp()
    for (const pattern of ['{ad-hoc}/**', '{user-data}/**'])
      expect(await answerTo('peek', { path: at('open') }, { ...allow, tools: [reader(pattern)] })).toMatch(
        /outside the grant/,
      )
  })

  it('give no access to tools that do not declare them', async () => {
    const { at } = setUp()
    expect(
      await answerTo('read', { file_path: at('open') }, { ...allow, adHocFiles: [at('open')] }),
    ).not.toContain('from open')
  })

  it('change with setAdHocFiles while the session is open', async () => {
    const { at } = setUp()
    const { session } = await openSession([], { ...allow, tools: [reader('{ad-hoc}/**')] })
    const peek = async (name: string): Promise<string> =>
      (await session.tool('peek', { path: at(name) })).output
    expect(await peek('open')).toMatch(/outside the grant/)
    session.setAdHocFiles([at('open'), at('other')])
    expect([await peek('open'), await peek('other')]).toEqual(['from open', 'from other'])
    session.setAdHocFiles([at('other')])
    expect(await peek('open')).toMatch(/outside the grant/)
    session.setAdHocFiles([])
    expect(await peek('other')).toMatch(/outside the grant/)
    await session.close()
    expect(() => session.setAdHocFiles([])).toThrow(/closed/)
  })

  it('contain the real directory: a link in it leads out, and the root of the disk cannot be opened', async () => {
    const { base, at } = setUp()
    symlinkSync(at('other'), join(base, 'open', 'link.txt'))
    const options = { ...allow, tools: [reader('{ad-hoc}/**')], adHocFiles: [at('open')] }
    expect(await answerTo('peek', { path: join(base, 'open', 'link.txt') }, options)).not.toContain(
      'from other',
    )
    await expect(openSession([], { adHocFiles: ['/etc-file'] })).rejects.toThrow(/root of the disk/)
    await expect(openSession([], { userDataDir: '/' })).rejects.toThrow(/root of the disk/)
    await expect(openSession([], { adHocFiles: [join(base, 'none', 'a')] })).rejects.toThrow(/no directory/)
    await expect(openSession([], { adHocFiles: [''] })).rejects.toThrow(/blank/)
    await expect(openSession([], { userDataDir: at('data') })).rejects.toThrow(/no directory/)
    const { session } = await openSession([])
    expect(() => session.setAdHocFiles('x' as never)).toThrow(/list of paths/)
  })

  it('are closed for subagents at the same moment', async () => {
    const { at } = setUp()
    const opened: { close?: () => void } = {}
    const shut = createTool({
      name: 'shut',
      description: 'd',
      input: z.object({}),
      execute: () => {
        opened.close?.()
        return 'shut'
      },
    })
    const peek = { toolCalls: [{ name: 'peek', args: { path: at('open') } }] }
    const model = scriptedModel([
      { toolCalls: [{ name: 'task', args: { agent: 'helper', description: 'd', prompt: 'peek' } }] },
      peek,
      { toolCalls: [{ name: 'shut', args: {} }] },
      peek,
      'done',
      'done',
    ])
    const { session } = await openSession([], {
      ...allow,
      model,
      tools: [reader('{ad-hoc}/**'), shut],
      adHocFiles: [at('open')],
      workerAgents: [{ name: 'helper', description: 'Helps.', prompt: 'Help.' }],
    })
    opened.close = () => session.setAdHocFiles([])
    await session.send('Go.')
    const seen = (model.requests[4]?.chatHistory ?? []).flatMap((message) =>
      message.role === 'tool' ? message.content.flatMap(({ content }) => content) : [],
    )
    expect(seen.map((part) => (part.type === 'text' ? part.text : ''))).toEqual([
      'from open',
      'shut',
      expect.stringMatching(/outside the grant/),
    ])
  })
})
