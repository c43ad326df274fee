import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { askingFirst, readAgentDirectory, readProjectAgents, readUserAgents } from './read-agents.js'

let base: string
beforeEach(async () => {
  base = temporaryDirectory()
})

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true })
    await writeFile(join(base, path), text)
  }
}
const agentFile = (description: string): string => `---\ndescription: ${description}\n---\nYou work.\n`
const namesOf = ({ agents }: { agents: readonly { name: string }[] }): string[] =>
  agents.map(({ name }) => name)

describe('readAgentDirectory', () => {
  it('reads Markdown with front matter and YAML, named by their files, and skips files for people', async () => {
    await put({
      'a/look.md': agentFile('Looks.'),
      'a/deep/judge.yaml': 'description: Judges.\nprompt: You judge.\n',
      'a/README.md': '# About these agents\n',
      'a/notes.txt': 'x',
    })
    const read = readAgentDirectory(join(base, 'a'), [])
    expect(namesOf(read).toSorted()).toEqual(['judge', 'look'])
    expect(read.problems).toEqual([])
  })

  it('reports what is wrong with a file, and reads the others', async () => {
    await put({
      'a/bad name!.md': agentFile('x'),
      'a/good.md': agentFile('Good.'),
      'a/odd.yaml': '- not\n- fields\n',
      'a/second.md': `---\nname: good\ndescription: Another.\n---\nx\n`,
    })
    const read = readAgentDirectory(join(base, 'a'), [])
    expect(namesOf(read)).toEqual(['good'])
    expect(read.problems).toHaveLength(3)
    expect(read.problems.join('\n')).toContain('there is an agent "good" already')
  })

  it('is empty, with a problem, when there is no directory', () => {
    expect(readAgentDirectory(join(base, 'none'), [])).toMatchObject({
      agents: [],
      problems: [expect.stringContaining('is not a directory that can be read')],
    })
  })
})

describe('readUserAgents', () => {
  it('reads the directories of other systems only next to ~/.capstan', async () => {
    await put({
      'home/.capstan/agents/own.md': agentFile('Own.'),
      'home/.claude/agents/other.md': agentFile('Other.'),
      'home/.agents/agents/own.md': agentFile('Not this one.'),
    })
    const read = readUserAgents(join(base, 'home/.capstan'), [])
    expect(namesOf(read)).toEqual(['own', 'other'])
    expect(read.agents[0]?.description).toBe('Own.')
    await put({ 'elsewhere/agents/only.md': agentFile('Only.'), '.claude/agents/not.md': agentFile('Not.') })
    expect(namesOf(readUserAgents(join(base, 'elsewhere'), []))).toEqual(['only'])
  })
})

describe('readProjectAgents', () => {
  it('reads the agents of a project', async () => {
    await put({ 'work/.capstan/agents/a.md': agentFile('A.'), 'work/.claude/agents/b.md': agentFile('B.') })
    expect(namesOf(readProjectAgents(join(base, 'work'), []))).toEqual(['a', 'b'])
    expect(readProjectAgents(base, [])).toEqual({ agents: [], problems: [], unread: [] })
  })
})

describe('askingFirst', () => {
  const agent = { name: 'a', description: 'A.', prompt: 'You work.' }

  it('asks about everything that the rules of a project would allow', () => {
    const permissions = {
      allow: ['bash', 'read'],
      ask: ['bash'],
      deny: ['write'],
      defaultDecision: 'allow',
    } as const
    expect(askingFirst({ ...agent, permissions }).permissions).toEqual({
      ask: ['bash', 'read'],
      deny: ['write'],
    })
  })

  it('does not change a deny, or an agent without rules', () => {
    expect(askingFirst({ ...agent, permissions: { defaultDecision: 'deny' } }).permissions).toEqual({
      ask: [],
      defaultDecision: 'deny',
    })
    expect(askingFirst(agent)).toEqual(agent)
  })
})
