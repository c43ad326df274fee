import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import type { PermissionPolicy } from '../../authority/policy.js'
import { CapstanError } from '../../tool/errors.js'
import type { AgentDefinition } from '../agent-definition.js'
import { parseAgentFile } from './parse-agent-file.js'
import { workerAgent } from './worker-spec.js'

const explore: AgentDefinition = {
  name: 'explore',
  description: 'Looks.',
  prompt: 'You explore.',
  tools: ['read', 'grep'],
  permissions: { allow: ['read', 'grep'], deny: ['write', 'edit'], defaultDecision: 'deny' },
  maxSteps: 20,
}

const markdown = (fields: string, body = 'You work.'): ReturnType<typeof parseAgentFile> =>
  parseAgentFile({ text: `---\n${fields}\n---\n${body}\n`, stem: 'stem', format: 'markdown' }, [explore])
const agentOf = (fields: string): AgentDefinition => markdown(fields).agent

describe('the manifest of an agent file', () => {
  it('has requirements and permissions', () => {
    expect(
      agentOf(
        'manifest:\n  requires:\n    fs:\n      read: ["{workspace}/docs/**"]\n  permissions:\n    deny: [bash]\n    default: ask',
      ).manifest,
    ).toEqual({
      requires: { fs: { read: ['{workspace}/docs/**'] } },
      permissions: { deny: ['bash'], defaultDecision: 'ask' },
    })
  })

  it.each([
    ['{ requires: { fs: { read: ["{workspce}/**"] } } }', '{workspace}'],
    ['{ requires: { fs: { read: ["src/["] } } }', 'position'],
    ['{ permissions: { denny: ["bash"] } }', 'denny'],
    ['{ permissions: { deny: ["bash("] } }', 'bash('],
    ['{ rules: [] }', 'rules'],
    ['all', 'requires and permissions'],
  ])('that is invalid makes the file invalid: %s', (manifest, words) => {
    expect(() => agentOf(`manifest: ${manifest}`)).toThrow(words)
    expect(() => agentOf('manfest: {}')).toThrow('did you mean "manifest"?')
  })
})

describe('an agent file', () => {
  it('is Markdown with front matter and the prompt below', () => {
    const { agent, problems } = markdown(
      [
        'name: release-reviewer',
        'description: Reviews releases. Use proactively when: a tag is near',
        'tools: Read, Grep, Bash(git log:*)',
        'disallowedTools: Write',
        'model: openai/gpt-5-mini',
        'max_steps: 12',
        'mode: subagent',
        'hidden: true',
        'inspectable: true',
        'caller: agent',
        'color: blue',
      ].join('\n'),
      '# You\nLook for blockers.',
    )
    expect(problems).toEqual([])
    expect(agent).toEqual({
      name: 'release-reviewer',
      description: 'Reviews releases. Use proactively when: a tag is near',
      prompt: '# You\nLook for blockers.',
      tools: ['read', 'grep', 'bash'],
      permissions: {
        allow: ['read', 'grep', 'bash(git log)', 'bash(git log *)'],
        deny: ['write'],
        defaultDecision: 'deny',
      },
      model: 'openai/gpt-5-mini',
      maxSteps: 12,
      mode: 'subagent',
      hidden: true,
      inspectable: true,
      caller: 'agent',
    })
  })

  it('is YAML with the prompt in a field', () => {
    const text = [
      'name: builder',
      'description: Builds.',
      'model: { provider: openai, model: gpt-5 }',
      'permissions:',
      '  allow: [read, "bash(npm run build*)"]',
      '  ask:',
      '    - bash',
      '  deny: [task]',
      '  default: deny',
      'prompt: |',
      '  You build.',
      '  Then you report.',
    ].join('\n')
    expect(parseAgentFile({ text, stem: 'x', format: 'yaml' }, []).agent).toEqual({
      name: 'builder',
      description: 'Builds.',
      prompt: 'You build.\nThen you report.',
      model: 'openai/gpt-5',
      permissions: {
        allow: ['read', 'bash(npm run build*)'],
        ask: ['bash'],
        deny: ['task'],
        defaultDecision: 'deny',
      },
    })
  })

  it('needs no fields: it is named after its file, and has the tools of the caller', () => {
    expect(agentOf('description: Does things.')).toEqual({
      name: 'stem',
      description: 'Does things.',
      prompt: 'You work.',
    })
  })

  it('that only disallows tools keeps the others', () => {
    expect(agentOf('disallowedTools: [Bash, "read(**/.env)"]').permissions).toEqual({
      defaultDecision: 'allow',
      deny: ['bash', 'read(**/.env)'],
    })
    expect(agentOf('tools: [read, bash]\ndisallowedTools: bash')).toMatchObject({
      tools: ['read'],
      permissions: { allow: ['read'], deny: ['bash'], defaultDecision: 'deny' },
    })
  })

  it('with an empty list of tools has none', () => {
    expect(agentOf('tools: []')).toMatchObject({
      tools: [],
      permissions: { allow: [], defaultDecision: 'deny' },
    })
  })

  it.each(['sonnet', 'inherit', '{ model: opus }'])('keeps the model of the session for %s', (model) => {
    const { agent, problems } = markdown(`model: ${model}`)
    expect(agent.model).toBeUndefined()
    expect(problems).toHaveLength(model === 'inherit' ? 0 : 1)
  })

  it('reports fields without effect, with their line', () => {
    expect(markdown('name: a\nhooks: { x: y }\npermissionMode: bypassPermissions').problems).toEqual([
      'line 3: the field "hooks" has no effect here',
      'line 4: the field "permissionMode" has no effect here',
    ])
  })

  it.each([
    [
      'a restriction that is misspelt',
      'disalowedTools: bash',
      'line 2: the field "disalowedTools" is not known; did you mean "disallowedTools"',
    ],
    ['tools that cannot be read', 'tools: [Read, "bash("]', 'tools: '],
    ['tools that are not list', 'tools: 7', 'tools: a list of tools must be'],
    ['rules that cannot be read', 'permissions: { deny: ["bash()"] }', 'permissions.deny'],
    ['rules of another kind', 'permissions: { denied: [bash] }', 'permissions has no field "denied"'],
    ['rules that contradict each other', 'permissions: { deny: [bash], allow: [bash] }', 'is in both'],
    ['steps that are not number', 'max_steps: many', 'max_steps must be'],
    ['no steps', 'max_steps: 0', 'max_steps must be'],
    ['a mode that does not exist', 'mode: boss', "invalid mode: 'boss' (expected: primary, subagent, all)"],
    [
      'an inheritance that does not exist',
      'confirmation_inheritance: always',
      'expected: auto_approve, deny_on_ask, inherit_parent',
    ],
    ['a name that cannot be one', 'name: ../../etc', 'its name must be'],
    ['a flag that is none', 'hidden: maybe', 'hidden must be true or false'],
    ['fields that cannot be read', 'name: &a x', 'line 2'],
  ])('is rejected for %s', (_, fields, words) => {
    expect(() => markdown(fields)).toThrow(words)
  })

  it('uses its description without a prompt, and is rejected without both', () => {
    expect(markdown('name: a\ndescription: Does it.', '  ').agent).toMatchObject({
      description: 'Does it.',
      prompt: 'Does it.',
    })
    expect(() => markdown('name: a', '  ')).toThrow('it has no prompt and no description')
  })

  it('is an agent or rejected, whatever its content', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.array(fc.string()),
      fc.constant(null),
      fc.object(),
    )
    const fields = fc.record(
      {
        tools: value,
        permissions: value,
        max_steps: value,
        model: value,
        mode: value,
        name: value,
        kind: value,
        disallowedTools: value,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fields, (given) => {
        // JSON is YAML.
        const text = `${Object.entries(given)
          .filter(([, one]) => one !== undefined)
          .map(([name, one]) => `${name}: ${JSON.stringify(one)}`)
          .join('\n')}\nprompt: work\ndescription: d`
        try {
          const { agent } = parseAgentFile({ text, stem: 'stem', format: 'yaml' }, [explore])
          if (given.tools !== undefined && given.tools !== null && given.kind == null)
            expect(agent.permissions?.defaultDecision).not.toBe('allow')
        } catch (error) {
          expect(error).toBeInstanceOf(CapstanError)
        }
      }),
      { numRuns: propertyRuns(300) },
    )
  })
})

describe('a worker', () => {
  it('has the tools and rules of its kind, and never more', () => {
    const worker = workerAgent(
      {
        name: 'finder',
        description: 'Finds things.',
        kind: 'read_only',
        permissions: { allow: ['read', 'write'], defaultDecision: 'deny' },
      },
      [explore],
    )
    expect(worker).toEqual({
      name: 'finder',
      description: 'Finds things.',
      prompt: 'You explore.',
      tools: ['read', 'grep'],
      permissions: { allow: ['read'], deny: ['write', 'edit'], defaultDecision: 'deny' },
      maxSteps: 20,
      caller: 'agent',
      confirmationInheritance: 'deny_on_ask',
    })
  })

  it.each<[PermissionPolicy, PermissionPolicy]>([
    [{ allow: ['bash'] }, { allow: ['bash(ls *)', 'bash(cat *)'] }],
    [{ allow: ['*'] }, { allow: ['read', 'bash(ls *)', 'bash(cat *)'] }],
    [
      { allow: ['read(docs/**)', 'bash(ls *)', 'bash(rm *)', 'fs.write', 'edit'] },
      { allow: ['read(docs/**)', 'bash(ls *)'] },
    ],
    [{ ask: ['bash(rm *)', 'read'] }, { allow: ['bash(ls *)', 'bash(cat *)'], ask: ['read'] }],
    [{ defaultDecision: 'allow' }, { allow: ['read', 'bash(ls *)', 'bash(cat *)'] }],
    [{ deny: ['read'] }, { allow: ['bash(ls *)', 'bash(cat *)'], deny: ['write', 'read'] }],
  ])('with the rules %j has the part of them that its kind allows', (permissions, expected) => {
    const looks: AgentDefinition = {
      ...explore,
      permissions: { allow: ['read', 'bash(ls *)', 'bash(cat *)'], deny: ['write'], defaultDecision: 'deny' },
    }
    const spec = { name: 'w', description: 'd', kind: 'read_only', permissions } as const
    expect(workerAgent(spec, [looks]).permissions).toEqual({
      deny: ['write'],
      defaultDecision: 'deny',
      ...expected,
    })
  })

  it('works in its own worktree when its specification or its file says so', () => {
    const spec = { name: 'w', description: 'd', isolation: 'worktree' } as const
    expect(workerAgent(spec, [])).toMatchObject({ isolation: 'worktree' })
    expect(agentOf('kind: read_only\nname: w\ndescription: d\nisolation: worktree')).toMatchObject({
      isolation: 'worktree',
    })
  })

  it('can be written as a file', () => {
    expect(agentOf('kind: read_only\nname: finder\ndescription: Finds.')).toMatchObject({
      name: 'finder',
      prompt: 'You work.',
      tools: ['read', 'grep'],
    })
  })

  it.each([
    [{ description: 'd' }, 'worker agent name is required'],
    [{ name: 'n' }, 'worker agent description is required'],
    [{ name: 'n', description: 'd', kind: 'boss' }, "invalid kind: 'boss'"],
    [
      { name: 'n', description: 'd', confirmationInheritance: 'x' },
      "invalid confirmation_inheritance: 'x' (expected: auto_approve, deny_on_ask, inherit_parent)",
    ],
    [{ name: 'n', description: 'd', isolation: 'container' }, "invalid isolation: 'container'"],
    [{ name: 'n', description: 'd', tools: ['read'] }, "a worker has no field 'tools'"],
    [{ name: 'n', description: 'd', model: 'x' }, 'not of the form "provider/model"'],
  ])('is rejected when something is missing or invalid: %j', (spec, words) => {
    expect(() => workerAgent(spec, [explore])).toThrow(words)
  })
})
