import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { SequentialIdGenerator } from '../../src/loop/host-env.js'
import { FileMemoryStore } from '../../src/memory/index.js'
import type { SessionOptions } from '../../src/session/options.js'
import { DefaultSecurityProvider } from '../../src/session/security/index.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import {
  bash,
  bodyOf,
  calls,
  configFor,
  idleNpm,
  makeWorkspace,
  openAgent,
  openServer,
  openSession,
  toolResults,
  whenDone,
} from './open-session.js'

/** Options as JavaScript may give them. */
function loose(options: Readonly<Record<string, unknown>>): SessionOptions {
  return options
}

describe('Agent.create', () => {
  it.each([
    ['snake case', 'api_key', 'base_url', '/v1'],
    ['camel case', 'apiKey', 'baseUrl', '/v1'],
    ['no /v1', 'api_key', 'base_url', ''],
    ['a trailing slash', 'apiKey', 'base_url', '/'],
    ['/v1 and a trailing slash', 'api_key', 'baseUrl', '/v1/'],
  ])('connects to the provider with %s', async (_, key, url, suffix) => {
    const server = await openServer(['hello'])
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      `default_model = "openai/docs-model"
       providers "openai" { ${key} = "k-123" ${url} = "${server.url}${suffix}" models "docs-model" {} }`,
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    expect((await agent.session(root).send('hi')).text).toBe('hello')
    expect(server.requests[0]?.path).toBe('/v1/chat/completions')
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer k-123')
  })

  it('accepts the path of an .acl file', async () => {
    const server = await openServer(['from a file'])
    const { base, root, userDir } = await makeWorkspace()
    const path = join(base, 'agent.acl')
    await writeFile(path, configFor(server.url))
    const agent = await Agent.create(path, { userDir, env: {} })
    whenDone(() => agent.close())
    expect((await agent.session(root).send('hi')).text).toBe('from a file')
  })

  it('accepts the same as an object', async () => {
    const server = await openServer(['from an object'])
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      {
        defaultModel: 'openai/docs-model',
        providers: [
          { name: 'openai', apiKey: 'k', baseUrl: `${server.url}/v1`, models: [{ id: 'docs-model' }] },
        ],
      },
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    expect((await agent.session(root).send('hi')).text).toBe('from an object')
  })

  it('rejects JSON text and says what to write instead', async () => {
    await expect(Agent.create('{"default_model": "openai/x"}')).rejects.toThrow(/JSON/)
  })

  it('reports where a configuration is wrong', async () => {
    await expect(Agent.create('default_model = ')).rejects.toThrow(/line 1/i)
  })

  it('reports warnings about a configuration without failing', async () => {
    const agent = await Agent.create('default_modle = "x"\n', { env: {} })
    expect(agent.warnings.join('\n')).toMatch(/default_modle.*default_model/s)
    await agent.close()
  })

  it('accepts the documented storage fields', async () => {
    const { base } = await makeWorkspace()
    const agent = await Agent.create(
      `storage_backend = "file"\nstorage_url = "${join(base, 'acl-storage')}"\n`,
      {
        env: {},
      },
    )
    await agent.close()
  })

  it('never shows the key in an error message', async () => {
    const { root, userDir } = await makeWorkspace()
    const server = await openServer([{ status: 401, message: 'bad key k-very-secret-0123456789' }])
    const agent = await Agent.create(
      `default_model = "openai/docs-model"
       providers "openai" { api_key = "k-very-secret-0123456789" base_url = "${server.url}" models "docs-model" {} }`,
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    const error = await agent
      .session(root)
      .send('hi')
      .catch((thrown: Error) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(String(error)).not.toContain('k-very-secret')
  })
})

describe('agent.session', () => {
  it('returns a session at once, without a request to the model', async () => {
    const { server, session } = await openSession(['never'])
    expect(session).not.toBeInstanceOf(Promise)
    expect(session.history()).toEqual([])
    expect(session.cancel()).toBe(false)
    expect(await session.currentRun()).toBeNull()
    expect(server.requests).toHaveLength(0)
  })

  it('sends the model of the session to the provider by its bare name', async () => {
    const { server, session } = await openSession(['alt'], { model: 'openai/docs-alt' })
    await session.send('hi')
    expect(bodyOf(server, 0).model).toBe('docs-alt')
  })

  it('sends the default model without one', async () => {
    const { server, session } = await openSession(['main'])
    await session.send('hi')
    expect(bodyOf(server, 0).model).toBe('docs-model')
  })

  it('rejects a model that is not configured, at once and by name', async () => {
    const { agent, root } = await openSession([])
    expect(() => agent.session(root, { model: 'openai/docs-alf' })).toThrow(/docs-alf.*docs-alt/s)
  })

  it('rejects a workspace that does not exist, or is not a directory', async () => {
    const { agent, root } = await openSession([], {}, { 'a.txt': '' })
    expect(() => agent.session(join(root, 'nowhere'))).toThrow(/nowhere.*does not exist/)
    expect(() => agent.session(join(root, 'a.txt'))).toThrow(/not a directory/)
  })

  it('has an id, the real workspace, labels and no warnings', async () => {
    const { agent, root } = await openSession([])
    const link = join(root, '..', 'link')
    await symlink(root, link)
    const session = agent.session(link, {
      sessionId: 'docs-accessors',
      tenantId: 'acme-prod',
      principal: 'svc-deploy-bot',
      agentTemplateId: 'ci-runner-v7',
      correlationId: 'trace-1234abcd',
    })
    expect(session.sessionId).toBe('docs-accessors')
    expect(session.workspace).toBe(root)
    expect(session.initWarning).toBeNull()
    expect([session.tenantId, session.principal, session.agentTemplateId, session.correlationId]).toEqual([
      'acme-prod',
      'svc-deploy-bot',
      'ci-runner-v7',
      'trace-1234abcd',
    ])
    expect(session.isClosed).toBe(false)
  })

  it('returns null for labels that were not given, and creates an id', async () => {
    const { session } = await openSession([])
    expect(session.tenantId).toBeNull()
    expect(session.correlationId).toBeNull()
    expect(session.sessionId).toMatch(/\S{8,}/)
  })

  it('uses ids of the host when the host has a generator', async () => {
    const { session } = await openSession(['hi'], {
      hostEnv: { idGenerator: new SequentialIdGenerator('host') },
    })
    expect(session.sessionId).toBe('host-0')
    expect((await session.send('hi')).runId).toMatch(/^host-\d+$/)
  })

  it('rejects an id that is in use', async () => {
    const { agent, root } = await openSession([], { sessionId: 'one' })
    expect(() => agent.session(root, { sessionId: 'one' })).toThrow(/'one' is already open/)
  })

  it('names unknown options with the nearest known one', async () => {
    const { agent, root } = await openSession([])
    const session = agent.session(root, loose({ maxToolRound: 3, toolTimeout: 5 }))
    expect(session.initWarning).toMatch(/maxToolRound .*Did you mean "maxToolRounds"/)
    expect(session.initWarning).toMatch(/toolTimeout .*"toolTimeoutMs"/)
  })

  it.each([
    ['auto', 'auto'],
    ['Enabled', 'on'],
    ['FORCE', 'forced'],
    ['off', 'Disabled'],
  ])('accepts the spellings %s and %s of planningMode', async (one, other) => {
    const { agent, root } = await openSession([])
    for (const planningMode of [one, other])
      expect(agent.session(root, loose({ planningMode })).initWarning).toBeNull()
  })

  it('rejects another planningMode with the documented message', async () => {
    const { agent, root } = await openSession([])
    expect(() => agent.session(root, loose({ planningMode: 'sometimes' }))).toThrow(
      /Invalid planningMode 'sometimes'. Must be: auto, enabled, or disabled/,
    )
  })

  it.each<[string, unknown]>([
    ['model', 3],
    ['temperature', 'hot'],
    ['temperature', Number.NaN],
    ['maxTokens', 0],
    ['thinkingBudget', -1],
    ['role', ['x']],
    ['guidelines', 1],
    ['responseStyle', {}],
    ['extra', true],
    ['planningMode', 7],
    ['planning', 'yes'],
    ['goalTracking', 1],
    ['tenantId', 5],
    ['principal', {}],
    ['agentTemplateId', []],
    ['correlationId', 1n],
    ['sessionId', '../x'],
    ['sessionId', ''],
    ['permissionPolicy', 'allow'],
    ['permissionPolicy', []],
    ['permissionPolicy', { allow: 'bash' }],
    ['permissionPolicy', { defaultDecision: 'maybe' }],
    ['permissionPolicy', { alow: [] }],
    ['permissionPolicy', { deny: ['bash('] }],
    ['confirmationPolicy', { enabled: 'yes' }],
    ['confirmationPolicy', { timeoutAction: 'approve' }],
    ['confirmationPolicy', { defaultTimeoutMs: -1 }],
    ['confirmationPolicy', { yoloLanes: ['quick'] }],
    ['onAsk', {}],
    ['onQuestion', 'no'],
    ['watchdog', true],
    ['ceiling', 'none'],
    ['mode', 'planning'],
    ['sandbox', true],
    ['network', { allowHosts: 'x' }],
    ['env', 'A=1'],
    ['env', { A: 1 }],
    ['roots', '/'],
    ['tools', 'read'],
    ['tools', [{ name: 'x' }]],
    ['tools', { read: true }],
    ['builtinTools', true],
    ['builtinTools', ['reed']],
    ['middleware', {}],
    ['approvals', () => true],
    ['hooks', {}],
    ['hooks', [{ id: 'x', event: 'pre_tool' }]],
    ['commands', {}],
    ['commands', [{ name: 'help', description: '', handler: () => '' }]],
    ['budgetGuard', () => null],
    ['budgetGuard', { checkBeforeLlm: 3 }],
    ['webSearch', { providers: {} }],
    ['securityProvider', true],
    ['hostEnv', { clock: 3 }],
    ['hostEnv', { clock: {} }],
    ['retentionLimits', { maxRuns: 0 }],
    ['autoCompact', 'yes'],
    ['autoCompactThreshold', 3],
    ['maxToolRounds', -1],
    ['maxToolRounds', 1.5],
    ['maxParseRetries', '2'],
    ['circuitBreakerThreshold', 0],
    ['duplicateToolCallThreshold', 0],
    ['maxExecutionTimeMs', 0],
    ['roundTimeoutMs', -5],
    ['modelIdleTimeoutMs', '1s'],
    ['llmApiTimeoutMs', Number.POSITIVE_INFINITY],
    ['toolTimeoutMs', '120000'],
    ['maxParallelTasks', 0],
    ['continuationEnabled', 1],
    ['maxContinuationTurns', -1],
    ['stopWhen', 'never'],
    ['stopWhen', ['never']],
    ['whenBusy', 'wait'],
    ['signal', {}],
    ['instructionFiles', 'AGENTS.md'],
  ])('rejects %s: %o by name', async (name, value) => {
    const { agent, root } = await openSession([])
    expect(() => agent.session(root, loose({ [name]: value }))).toThrow(new RegExp(name))
    expect(await agent.listSessions()).toHaveLength(1)
  })

  it('accepts the large example of the documentation', async () => {
    const { agent, root } = await openSession([])
    const session = agent.session(
      root,
      loose({
        model: 'openai/docs-alt',
        builtinSkills: true,
        planningMode: 'disabled',
        memoryStore: new FileMemoryStore(join(root, 'memory')),
        sessionStore: new FileSessionStore(join(root, 'sessions')),
        sessionId: 'docs-contract',
        autoSave: true,
        securityProvider: new DefaultSecurityProvider(),
        skillDirs: [join(root, 'skills')],
        inlineSkills: [{ name: 'strict-release-review', kind: 'instruction', content: 'Blockers first.' }],
        maxToolRounds: 24,
        maxParseRetries: 3,
        toolTimeoutMs: 120000,
        circuitBreakerThreshold: 4,
        autoCompact: true,
        autoCompactThreshold: 0.75,
        continuationEnabled: true,
        maxContinuationTurns: 3,
        maxExecutionTimeMs: 300000,
        confirmationPolicy: { enabled: true, defaultTimeoutMs: 60000, timeoutAction: 'reject' },
      }),
    )
    expect(session.sessionId).toBe('docs-contract')
    expect(session.initWarning).toBeNull()
  })

  it('accepts every documented retention limit', async () => {
    const { session } = await openSession([], {
      retentionLimits: {
        maxRuns: 100,
        maxEventsPerRun: 5_000,
        maxTraceEvents: 10_000,
        maxTerminalSubagentTasks: 1_000,
      },
    })
    expect(session.initWarning).toBeNull()
  })

  it('treats options that are null or undefined as not given', async () => {
    const { agent, root } = await openSession([])
    const session = agent.session(root, loose({ role: undefined, mode: null }))
    expect(session.initWarning).toBeNull()
  })

  it('opens a session for the built-in agent explore', async () => {
    const { server, agent } = await openAgent(
      [calls(['write', { file_path: 'x', content: 'y' }]), 'found'],
      (await makeWorkspace()).userDir,
    )
    const { root } = await makeWorkspace()
    const session = agent.sessionForAgent(root, 'explore', [], { sandbox: 'off' })
    expect((await session.send('look')).text).toBe('found')
    expect(JSON.stringify(bodyOf(server, 0).messages[0])).toContain('explore')
    expect(toolResults(server, 1)[0]).toMatch(/write/)
    expect(() => agent.sessionForAgent(root, 'explorer-x')).toThrow(/agent 'explorer-x' not found/)
  })
})

describe('sessionForAgent', () => {
  it('keeps the rules of the agent when an option has no value', async () => {
    const { agent, root } = await openSession([])
    const server = await openServer([bash('touch x.txt'), 'done'])
    const own = await Agent.create(configFor(server.url), { userDir: join(root, '..', 'user'), env: {} })
    whenDone(() => own.close())
    const session = own.sessionForAgent(
      root,
      'explore',
      [],
      loose({
        permissionPolicy: null,
        role: null,
        builtinTools: undefined,
        sandbox: 'off',
        onAsk: () => ({ decision: 'once' }),
      }),
    )
    await session.send('x')
    expect(toolResults(server, 1)[0]).toMatch(/Refused/)
    expect(JSON.stringify(bodyOf(server, 0).messages[0])).toContain('You explore')
    expect(session.toolNames()).not.toContain('write')
    expect(await session.glob('**')).toEqual([])
    await agent.close()
  })

  it('uses the limits of the configuration unless the session has its own', async () => {
    const server = await openServer((_, n) => calls(['ls', { path: `d${n}` }]))
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(`max_tool_rounds = 1\n${configFor(server.url)}`, { userDir, env: {} })
    whenDone(() => agent.close())
    await expect(agent.session(root).send('x')).rejects.toThrow(/all of its 1 tool rounds/)
    await expect(agent.session(root, { maxToolRounds: 2 }).send('x')).rejects.toThrow(
      /all of its 2 tool rounds/,
    )
  })
})

describe('permissionPolicy of the documentation', () => {
  const permissionPolicy = {
    deny: ['write(**/.env*)', 'bash(rm -rf*)'],
    ask: ['bash(git push*)', 'bash(npm publish*)'],
    allow: ['read(*)', 'grep(*)', 'glob(*)', 'bash(npm run build*)'],
    defaultDecision: 'ask',
    enabled: true,
  } as const

  it.each<[string, string, 'refused' | 'asked' | 'runs']>([
    ['the denied pattern', 'rm -rf *', 'refused'],
    ['a path outside', 'rm -rf /tmp/capstan-never-there', 'refused'],
    ['a path inside', 'rm -rf src/deep/x', 'refused'],
    ['other spellings of it', '/bin/rm -fr build', 'refused'],
    ['it inside a longer command', 'npm run build && rm -rf dist', 'refused'],
    ['what must be asked about', 'git push origin feat/x', 'asked'],
    ['publishing', 'npm publish --tag next', 'asked'],
    ['what no rule names', 'touch new.txt', 'asked'],
    ['what is allowed', 'npm run build --if-present', 'runs'],
  ])('decides about %s: %s', async (_, command, expected) => {
    const asked: unknown[] = []
    const { server, session } = await openSession(
      [bash(command), 'done'],
      {
        permissionPolicy,
        env: idleNpm(temporaryDirectory()),
        onAsk: ({ args }) => {
          asked.push(args)
          return { decision: 'reject', message: 'not today' }
        },
      },
      { 'package.json': '{"name":"x","version":"1.0.0"}' },
    )
    await session.send('go')
    const [result = ''] = toolResults(server, 1)
    expect(asked).toHaveLength(expected === 'asked' ? 1 : 0)
    if (expected === 'refused') expect(result).toMatch(/Refused/)
    if (expected === 'asked') expect(result).toContain('not today')
    if (expected === 'runs') expect(result).toContain('idle npm')
  })

  it('denies writing files such as .env wherever they are', async () => {
    const { server, session, root } = await openSession(
      [calls(['write', { file_path: 'deep/.env.local', content: 'A=1' }]), 'done'],
      { permissionPolicy, onAsk: () => ({ decision: 'once' }) },
    )
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(/Refused/)
    await expect(session.readFile(join(root, 'deep/.env.local'))).rejects.toThrow()
  })

  it('allows nothing more when it is turned off', async () => {
    const { server, session } = await openSession([bash('touch x'), 'done'], {
      permissionPolicy: { ...permissionPolicy, enabled: false },
    })
    await session.send('go')
    expect(toolResults(server, 1)[0]).toMatch(/No user can be asked/)
  })
})
