import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Session } from '../../src/session/session.js'
import {
  bash,
  calls,
  eventsOf,
  makeRepository,
  makeWorkspace,
  ofType,
  openAgent,
  openSession,
  shownTools,
  systemPromptOf,
  toolResults,
  writeFiles,
} from './open-session.js'

const agentFile = (name: string, more = '', prompt = `You are ${name}.`): string =>
  `---\nname: ${name}\ndescription: The agent ${name}.\n${more}---\n${prompt}\n`
const namesOf = (session: Session): string[] => session.agents().map(({ name }) => name)

describe('agents in files', () => {
  it('are read from a directory, and invalid ones are reported', async () => {
    const { session, root } = await openSession(
      ['from the child'],
      {},
      {
        'agents/one.md': agentFile('one', 'tools: Read\n'),
        'agents/two.yaml': 'name: two\ndescription: The second.\nprompt: You are two.\n',
        'agents/README.md': '# Agents',
        'agents/bad.md': '---\nname: bad\ndisalowedTools: bash\n---\nx',
        'agents/worse.yml': 'name: [',
      },
    )
    await writeFile(join(root, '..', 'secret.md'), agentFile('secret'))
    await symlink(join(root, '..', 'secret.md'), join(root, 'agents/link.md'))
    expect(session.registerAgentDir(join(root, 'agents'))).toBe(2)
    expect(namesOf(session).slice(0, 2)).toEqual(['one', 'two'])
    expect(namesOf(session)).toContain('explore')
    expect(session.agents().find(({ name }) => name === 'one')).toMatchObject({
      native: false,
      tools: ['read'],
    })
    expect(session.agentProblems()).toEqual([
      expect.stringMatching(/bad\.md is not an agent: line 3: .*did you mean "disallowedTools"/),
      expect.stringMatching(/link\.md was not read: it is a link that leads out/),
      expect.stringMatching(/worse\.yml is not an agent: line 1/),
    ])
    expect(session.registerAgentDir(join(root, 'missing'))).toBe(0)
    expect(session.agentProblems().at(-1)).toContain('missing is not a directory')
    const { output, exitCode } = await session.task({ agent: 'two', description: 'd', prompt: 'p' })
    expect([exitCode, output]).toEqual([0, expect.stringContaining('from the child')])
  })

  it('run tasks with their own prompt and the tools they name', async () => {
    const { server, session } = await openSession(
      [calls(['task', { agent: 'looker', prompt: 'look' }]), 'looked', 'done'],
      {},
      {
        '.claude/agents/looker.md': agentFile('looker', 'tools: Read, Grep\n', 'THE-PROMPT'),
      },
    )
    await session.send('go')
    expect(systemPromptOf(server, 0)).toContain('- looker: The agent looker.')
    expect(systemPromptOf(server, 1)).toContain('THE-PROMPT')
    expect(shownTools(server, 1)).toEqual(['read', 'grep'])
  })

  it('of a project never replace others, and never do what the session is not allowed to', async () => {
    const { server, session } = await openSession(
      [calls(['task', { agent: 'greedy', prompt: 'take' }]), bash('touch taken'), 'tried', 'done'],
      { permissionPolicy: { deny: ['bash(touch *)'], allow: ['bash', 'task'] } },
      {
        '.capstan/agents/general.md': agentFile('general', '', 'TAKEN-OVER'),
        '.agents/agents/greedy.md': agentFile(
          'greedy',
          'tools: "*"\npermissions:\n  allow: [bash, write]\n  default: allow\nconfirmation_inheritance: auto_approve\n',
        ),
      },
    )
    const notices = ofType(await eventsOf(session, 'go'), 'notice').filter(
      ({ source }) => source === 'agents',
    )
    expect(notices.map(({ message }) => message)).toEqual([
      'the agent "general" of the project was left out: there is one of that name already',
    ])
    expect(toolResults(server, 2)[0]).toMatch(/denied|not allowed|refused/i)
    await expect(session.readFile('taken')).rejects.toThrow()
    expect(session.agents().find(({ name }) => name === 'general')?.native).toBe(true)
  })

  it('can also be opened as sessions, by name', async () => {
    const { root, userDir } = await makeWorkspace({
      'agents/mine.md': agentFile('mine', 'tools: Read, Bash(echo *)\nmax_steps: 3\n', 'MINE-PROMPT'),
      '.claude/agents/theirs.md': agentFile('theirs', 'tools: Read, Bash(echo *)\n', 'THEIRS-PROMPT'),
    })
    makeRepository(root)
    await writeFiles(userDir, { 'agents/own.yaml': 'name: own\ndescription: o\nprompt: OWN-PROMPT\n' })
    const { server, agent } = await openAgent(
      [bash('echo hello'), 'ok', bash('echo hello'), 'ok', 'ok'],
      userDir,
    )
    const options = { sandbox: 'off' } as const
    const mine = agent.sessionForAgent(root, 'mine', ['agents'], options)
    await mine.send('go')
    expect(systemPromptOf(server, 0)).toContain('MINE-PROMPT')
    expect(shownTools(server, 0)).toEqual(['read', 'bash'])
    expect(toolResults(server, 1)[0]).toContain('hello')
    // No caller limits what came with the project here: it asks before it does what it declares.
    const theirs = agent.sessionForAgent(root, 'theirs', [], options)
    await theirs.send('go')
    expect(systemPromptOf(server, 2)).toContain('THEIRS-PROMPT')
    expect(toolResults(server, 3)[0]).not.toMatch(/^hello/)
    const own = agent.sessionForAgent(root, 'own', [], options)
    await own.send('go')
    expect(systemPromptOf(server, 4)).toContain('OWN-PROMPT')
    expect(() => agent.sessionForAgent(root, 'minee', ['agents'], options)).toThrow(
      `agent 'minee' not found. Did you mean "mine"?`,
    )
    expect(() => agent.sessionForAgent(root, 'own', [], { ...options, discoverAgents: false })).toThrow(
      'not found',
    )
  })

  it.each([
    [
      'reviewer.yaml',
      'name: reviewer\ndescription: Reviews changes.\nmax_steps: 4\npermissions:\n  allow: [read, grep]\n  deny: [write]\n',
    ],
    [
      'reviewer.md',
      '---\nname: reviewer\ndescription: Reviews changes.\nmax_steps: 4\npermissions:\n  allow: [read, grep]\n  deny: [write]\n---\n',
    ],
    [
      'reviewer.yml',
      'description: Reviews changes.\nmax_steps: 4\nprompt: "  "\npermissions: { allow: [read, grep], deny: [write] }\n',
    ],
  ])('use their description without a prompt: %s', async (file, text) => {
    const { server, session, agent, root } = await openSession(
      ['from the child', 'as itself'],
      {},
      { [`agents/${file}`]: text },
    )
    expect(session.registerAgentDir(join(root, 'agents'))).toBe(1)
    expect(session.agentProblems()).toEqual([])
    expect(session.agents()[0]).toMatchObject({
      name: 'reviewer',
      description: 'Reviews changes.',
      maxSteps: 4,
    })
    expect((await session.task({ agent: 'reviewer', prompt: 'p' })).output).toContain('from the child')
    expect(systemPromptOf(server, 0)).toContain('Reviews changes.')
    const own = agent.sessionForAgent(root, 'reviewer', ['agents'], { sandbox: 'off' })
    expect((await own.send('go')).text).toBe('as itself')
    expect(systemPromptOf(server, 1)).toContain('Reviews changes.')
  })

  it.each([
    [
      'x.yaml',
      'name: x\npermissions: { allow: [read] }\n',
      /x\.yaml is not an agent: it has no prompt and no description/,
    ],
    [
      'x.md',
      '---\nname: x\ndescription: d\nmax_steps: many\n---\nGo.',
      /x\.md is not an agent: max_steps must be a whole number of at least 1, not 'many'/,
    ],
    ['x.yaml', 'name: x\ndescription: [', /x\.yaml is not an agent: line 2/],
    [
      'other.yaml',
      'name: x\ndescription: d\npermisions: {}\n',
      /other\.yaml is not an agent: line 3: .*did you mean "permissions"/,
    ],
    ['x.md', '# Just a text', /x\.md is not an agent: it does not begin with fields/],
    ['x.yaml', `name: x\ndescription: ${'d'.repeat(200_000)}\n`, /x\.yaml was not read/],
    ['y.yaml', 'name: y\ndescription: fine\n', /agent 'x' not found\. Known are/],
  ])('that are invalid are reported to a host that opens one by name: %s (%#)', async (file, text, words) => {
    const { session, agent, root } = await openSession(
      [],
      { agentDirs: ['agents'] },
      { [`agents/${file}`]: text },
    )
    expect(() => agent.sessionForAgent(root, 'x', ['agents'])).toThrow(words)
    expect(() => agent.sessionForAgent(root, 'x', ['agents'])).toThrow(/^agent 'x' not found/)
    expect((await session.task({ agent: 'x', prompt: 'p' })).output).toMatch(words)
  })

  it('are reported as missing when the directory itself is missing', async () => {
    const { agent, root } = await openSession([])
    expect(() => agent.sessionForAgent(root, 'x', ['nowhere'])).toThrow(
      /nowhere is not a directory that can be read/,
    )
  })

  it('are not read when the host turns that off', async () => {
    const { session } = await openSession(
      [],
      { discoverAgents: false },
      { '.claude/agents/a.md': agentFile('a') },
    )
    expect(namesOf(session)).not.toContain('a')
  })

  it('come from options and the configuration, and workers from a short definition', async () => {
    const { agent, root } = await openSession(
      [],
      {},
      {
        'agents/one.md': agentFile('one'),
      },
    )
    const session = agent.session(root, {
      agentDirs: ['agents'],
      workerAgents: [{ name: 'finder', description: 'Finds.', kind: 'read_only' }],
    })
    expect(namesOf(session)).toEqual(expect.arrayContaining(['one', 'finder']))
    expect(
      session.registerWorkerAgent({ name: 'builder', description: 'Builds.', kind: 'implementer' }),
    ).toMatchObject({
      name: 'builder',
      native: false,
      hidden: false,
      maxSteps: 50,
    })
    expect(() => session.registerWorkerAgents([{ name: '', description: 'x' }])).toThrow(
      'worker agent name is required',
    )
    expect(() => agent.session(root, { workerAgents: [{ name: 'x' } as never] })).toThrow(
      'workerAgents[0]: worker agent description is required',
    )
    const worker = agent.sessionForWorker(root, { name: 'w', description: 'd', kind: 'reviewer' })
    expect(worker.toolNames()).toEqual(expect.arrayContaining(['read', 'git']))
    expect(worker.toolNames()).not.toContain('write')
  })
})
