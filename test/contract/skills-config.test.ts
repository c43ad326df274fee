import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { makeWorkspace, whenDone, writeFiles } from './open-session.js'

describe('directories of the configuration', () => {
  it('have skills and agents for every session, after those of the session itself', async () => {
    const { base, root, userDir } = await makeWorkspace({
      'skills/one.md': '---\nname: one\ndescription: of the session\n---\nx',
      'agents/a.md': '---\nname: a\ndescription: of the session\n---\nx',
    })
    await writeFiles(base, {
      'shared/skills/one.md': '---\nname: one\ndescription: of the configuration\n---\nx',
      'shared/skills/two.md': '---\nname: two\ndescription: of the configuration\n---\nx',
      'shared/agents/b.yaml': 'name: b\ndescription: of the configuration\nprompt: You are b.\n',
    })
    const agent = await Agent.create(
      `skill_dirs = "${join(base, 'shared/skills')}"\nagent_dirs = ["${join(base, 'shared/agents')}"]`,
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    const session = agent.session(root, { skillDirs: ['skills'], agentDirs: ['agents'] })
    expect((await session.skills()).map(({ name, description }) => [name, description])).toEqual([
      ['one', 'of the session'],
      ['two', 'of the configuration'],
    ])
    expect(session.agents().map(({ name }) => name)).toEqual(expect.arrayContaining(['a', 'b']))
    expect(agent.sessionForAgent(root, 'b').sessionId).not.toBe('')
    expect((await agent.session(root).skills()).map(({ name }) => name)).toEqual(['one', 'two'])
  })
})
