import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readToolList } from '../../src/authority/tool-list.js'
import {
  bash,
  calls,
  eventsOf,
  ofType,
  openSession,
  shownTools,
  systemPromptOf,
  toolResults,
} from './open-session.js'

const inline = (allowedTools?: string | readonly string[]) => ({
  inlineSkills: [
    { name: 'echo-it', content: 'SKILL-BODY', ...(allowedTools !== undefined && { allowedTools }) },
  ],
})
const run = calls(['Skill', { skill_name: 'echo-it', prompt: 'PROMPT-OF-THE-PARENT' }])

describe('a skill that runs in its own session', () => {
  it('has the tools that it names, its text as instructions, and returns its answer', async () => {
    const { server, session } = await openSession([run, 'the answer', 'done'], inline('Read, Bash(echo *)'))
    const events = await eventsOf(session, 'go')
    expect(systemPromptOf(server, 1)).toContain(
      '<skill_content name="echo-it">\nSKILL-BODY\n</skill_content>',
    )
    expect(JSON.stringify(server.requests[1]?.body)).toContain('PROMPT-OF-THE-PARENT')
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain('"go"')
    expect(shownTools(server, 1)).toEqual(['read', 'bash'])
    expect(toolResults(server, 2)).toEqual(['the answer'])
    expect(ofType(events, 'subagent_start')).toEqual([expect.objectContaining({ agent: 'skill:echo-it' })])
  })

  it('has no tools when it names none', async () => {
    const { server, session } = await openSession([run, bash('echo hello'), 'the answer', 'done'], {
      ...inline(),
      permissionPolicy: { allow: ['bash'] },
    })
    await session.send('go')
    expect(shownTools(server, 1)).toEqual([])
    expect(toolResults(server, 2)[0]).toMatch(/no tool|unknown tool|not available|Unknown/i)
  })

  it('can use its tools only as it declares', async () => {
    const { server, session } = await openSession(
      [run, bash('echo hello'), bash('touch made'), bash('echo a; touch made'), 'the answer', 'done'],
      { ...inline(['Bash(echo:*)']), permissionPolicy: { allow: ['bash'] } },
    )
    await session.send('go')
    const [echoed, touched, both] = toolResults(server, 4)
    expect(echoed).toContain('hello')
    expect(touched).not.toMatch(/exit code 0/)
    expect(both).not.toContain('a\n')
    await expect(session.readFile('made')).rejects.toThrow()
  })

  it('has no permission that the session does not have, whatever it names', async () => {
    const { server, session } = await openSession(
      [run, bash('touch made'), calls(['write', { file_path: 'made', content: 'x' }]), 'the answer', 'done'],
      { ...inline('*'), permissionPolicy: { deny: ['bash(touch *)'], allow: ['bash'] } },
    )
    await session.send('go')
    const [touched, written] = toolResults(server, 3)
    expect(touched).toMatch(/denied|refused|not allowed/i)
    // No user was asked: what the session would ask about is refused.
    expect(written).toMatch(/refused|approval|ask/i)
    await expect(session.readFile('made')).rejects.toThrow()
  })

  it('is reported to hooks, like a loaded one', async () => {
    const { session } = await openSession(
      [
        calls(['skill', { name: 'echo-it' }]),
        calls(['skill', { name: 'echo-it' }]),
        run,
        'the answer',
        'done',
      ],
      inline('Read'),
    )
    const reported: unknown[] = []
    for (const event of ['skill_load', 'skill_unload'] as const)
      session.registerHook(event, event, { skill: 'echo-*' }, null, ({ payload }) => {
        reported.push([event, payload])
      })
    await session.send('go')
    const load = expect.objectContaining({ skill_name: 'echo-it', tool_names: ['read'] })
    expect(reported).toEqual([
      ['skill_load', load],
      ['skill_load', load],
      ['skill_unload', expect.objectContaining({ skill_name: 'echo-it' })],
    ])
  })

  it('must exist', async () => {
    const { server, session } = await openSession(
      [calls(['Skill', { name: 'echo' }], ['Skill', {}]), 'done'],
      inline(),
    )
    await session.send('go')
    expect(toolResults(server, 1)).toEqual([
      expect.stringContaining("Skill 'echo' not found."),
      expect.stringContaining('Name the skill in skill_name.'),
    ])
  })
})

describe('the names of tools in a skill', () => {
  it('never create a rule for another tool than the named one', () => {
    const name = fc.constantFrom('Read', 'bash', 'Grep', 'mcp__a__b', 'my_tool')
    const pattern = fc.string({
      unit: fc.constantFrom('g', 'i', 't', ' ', ':', '*', '/', '.', '-', ','),
      maxLength: 12,
    })
    fc.assert(
      fc.property(name, pattern, (tool, text) => {
        const { rules } = readToolList([`${tool}(${text})`])
        for (const rule of rules)
          expect(rule.toLowerCase().startsWith(tool.toLowerCase().replace('mcp__a__b', 'mcp:a:b'))).toBe(true)
      }),
    )
  })
})
