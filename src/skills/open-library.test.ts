import { execFileSync } from 'node:child_process'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { packageSkills } from './builtin/index.js'
import type { SkillLibrary } from './library.js'
import { openSkillLibrary } from './open-library.js'
import { skillSection } from './skill-section.js'

/** A directory with these files; a text that begins with `->` is a link to what follows. */
async function directory(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const base = temporaryDirectory()
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true })
    if (content.startsWith('->')) await symlink(content.slice(2), join(base, path))
    else await writeFile(join(base, path), content)
  }
  return base
}

const file = (name: string, description = `About ${name}.`, body = 'Do it.'): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`
const namesOf = ({ skills }: SkillLibrary): string[] => skills.map(({ name }) => name)

describe('the skills of a session', () => {
  it('are folders and single files, in categories too, and nothing else', async () => {
    const base = await directory({
      's/one/SKILL.md': file('one'),
      's/one/references/more.md': file('not-a-skill'),
      's/two.md': file('two'),
      's/category/three/skill.md': file('three'),
      's/README.md': '# About these skills',
      's/.hidden/SKILL.md': file('hidden'),
      's/node_modules/x/SKILL.md': file('packaged'),
      's/script.sh': 'echo',
      's/bare/SKILL.md': 'No fields at all.',
    })
    const library = await openSkillLibrary({ directories: [join(base, 's')] })
    expect(namesOf(library)).toEqual(['bare', 'three', 'one', 'two'])
    expect(library.problems).toEqual([])
    expect(library.get('one').folder).toBe(join(base, 's/one'))
    expect(library.get('two').folder).toBeUndefined()
  })

  it('can be one folder that a host names', async () => {
    const base = await directory({ 'mine/SKILL.md': file('mine') })
    expect(namesOf(await openSkillLibrary({ directories: [join(base, 'mine')] }))).toEqual(['mine'])
  })

  it('come from host, user, project and package, and the first with a name counts', async () => {
    const base = await directory({
      'home/.capstan/skills/b.md': file('b', 'of the user'),
      'home/.claude/skills/c.md': file('c', 'of the user'),
      'repo/.git/HEAD': '',
      'repo/.claude/skills/d.md': file('d', 'outer'),
      'repo/.claude/skills/e.md': file('e', 'outer'),
      'repo/sub/.agents/skills/a.md': file('a', 'of the project'),
      'repo/sub/.agents/skills/b.md': file('b', 'of the project'),
      'repo/sub/.capstan/skills/d.md': file('d', 'nearest'),
      'repo/sub/.capstan/skills/x.md': file('review-change', 'their own'),
      'outside/.claude/skills/z.md': file('z'),
      'given/a.md': file('a', 'of the host'),
    })
    const library = await openSkillLibrary({
      inline: [{ name: 'i', content: 'inline' }],
      directories: [join(base, 'given')],
      userDir: join(base, 'home/.capstan'),
      root: join(base, 'repo/sub'),
      builtin: true,
    })
    const found = Object.fromEntries(library.skills.map(({ name, description }) => [name, description]))
    expect(found).toMatchObject({
      i: 'inline',
      a: 'of the host',
      b: 'of the user',
      c: 'of the user',
      d: 'nearest',
      e: 'outer',
      'review-change': 'their own',
    })
    expect(found['z']).toBeUndefined()
    expect(library.skills.map(({ source }) => source)).toEqual([
      ...['inline', 'directory', 'user', 'user', 'project', 'project', 'project'],
      ...['builtin', 'builtin'],
    ])
    expect(library.problems).toHaveLength(3)
    expect(library.problems[0]).toMatch(
      /sub\/\.agents\/skills\/a\.md was left out: the skill "a" is there already, from .*given\/a\.md/,
    )
  })

  it('stay in their source: a link out of the project, the directory or the user’s home is refused and reported', async () => {
    const base = await directory({
      'secret/SKILL.md': file('secret', 'outside-token'),
      'secret.md': file('secret', 'outside-token'),
      'repo/.git/HEAD': '',
      'repo/.claude/skills/a': '->../../../secret',
      'repo/.claude/skills/b.md': '->../../../secret.md',
      'repo/.claude/skills/c/SKILL.md': '->../../../../secret.md',
      'repo/.claude/skills/d': '->/etc',
      'repo/.claude/skills/nowhere': '->missing',
      'repo/.claude/skills/round.md': '->round.md',
      'repo/.agents/skills': '->../../secret',
      'user/skills/e': '->../../secret',
      'given/f': '->../secret',
    })
    const library = await openSkillLibrary({
      root: join(base, 'repo'),
      userDir: join(base, 'user'),
      directories: [join(base, 'given')],
    })
    expect(namesOf(library)).toEqual([])
    expect(library.problems.join('\n')).not.toContain('outside-token')
    expect(library.problems).toHaveLength(8)
    for (const problem of library.problems) expect(problem).toMatch(/is a link that leads (?:out|nowhere)/)
  })

  it('can be linked within the directories of one owner, and then count once', async () => {
    const base = await directory({
      'repo/.git/HEAD': '',
      'repo/.agents/skills/a/SKILL.md': file('a'),
      'repo/.claude/skills/a': '->../../.agents/skills/a',
      'home/.agents/skills/b/SKILL.md': file('b'),
      'home/.claude/skills': '->../.agents/skills',
      'home/.capstan/skills/b': '->../../.agents/skills/b',
    })
    const library = await openSkillLibrary({ root: join(base, 'repo'), userDir: join(base, 'home/.capstan') })
    expect(namesOf(library)).toEqual(['b', 'a'])
    expect(library.problems).toEqual([])
  })

  it('that cannot be read are reported, and the others are used', async () => {
    const base = await directory({
      's/a.md': '---\na: [\n---\nx',
      's/b.md': file('b'),
      's/c/SKILL.md': '',
      's/d.md': file('d'),
    })
    await truncate(join(base, 's/d.md'), 2 ** 40)
    execFileSync('mkfifo', [join(base, 's/pipe.md')])
    await mkdir(join(base, 's/e.md'))
    const library = await openSkillLibrary({
      directories: [join(base, 's'), join(base, 'missing')],
      inline: [{ name: '../x', content: 'y' }],
    })
    expect(namesOf(library)).toEqual(['b'])
    expect(library.problems.map((problem) => problem.replace(`${base}/`, '')).sort()).toEqual([
      expect.stringMatching(/^inlineSkills\[0\] is not a skill: a name is/),
      expect.stringMatching(/^s\/a\.md is not a skill: line 2/),
      expect.stringMatching(/^s\/c\/SKILL\.md is not a skill: it has no text/),
      expect.stringMatching(/^s\/d\.md was not read: it must be a plain file/),
      expect.stringMatching(/^s\/pipe\.md was not read/),
      expect.stringMatching(/missing is not a directory/),
    ])
  })

  it('are shared as texts with other sessions', async () => {
    const base = await directory({ 's/a.md': file('a') })
    const places = { directories: [join(base, 's')] }
    const [one, two] = [await openSkillLibrary(places), await openSkillLibrary(places)]
    expect(one.get('a')).toBe(two.get('a'))
    await writeFile(join(base, 's/a.md'), file('a', 'other'))
    expect((await openSkillLibrary(places)).get('a').description).toBe('other')
    expect(one.get('a').description).toBe('About a.')
  })
})

describe('searching skills', () => {
  const inline = [
    { name: 'deploy-web', content: 'Ship the site to production.', tags: ['release'] },
    { name: 'strict-release-review', content: 'Always separate blockers from nice-to-have improvements.' },
    { name: 'write-haiku', content: 'Seventeen syllables.' },
  ]

  it('finds them by name, tag, description and text, the best first', async () => {
    const library = await openSkillLibrary({ inline })
    const found = async (query: string): Promise<string[]> =>
      (await library.search(query, 5)).map(({ name }) => name)
    expect((await found('strict release review'))[0]).toBe('strict-release-review')
    expect(await found('release')).toEqual(['strict-release-review', 'deploy-web'])
    expect(await found('blockers')).toEqual(['strict-release-review'])
    expect(await found('haikus')).toEqual(['write-haiku'])
    expect(await found('zzz')).toEqual([])
    expect(await found('???')).toEqual([])
    expect(await library.search('release', 1)).toHaveLength(1)
  })

  it('shows models only the skills that are for them', async () => {
    const base = await directory({
      'a.md': '---\nname: private\ndisable-model-invocation: true\n---\nrelease',
    })
    const library = await openSkillLibrary({ inline, directories: [base] })
    expect((await library.search('private release', 5)).map(({ name }) => name)).toContain('private')
    expect((await library.search('private release', 5, true)).map(({ name }) => name)).not.toContain(
      'private',
    )
    expect(() => library.get('private', true)).toThrow("Skill 'private' not found")
    expect(library.get('private').name).toBe('private')
  })

  it('finds the right ones among 1,000', async () => {
    const topics = ['release', 'database', 'migration', 'review', 'frontend', 'security', 'billing', 'search']
    const library = await openSkillLibrary({
      inline: Array.from({ length: 1_000 }, (_, at) => ({
        name: `${topics[at % 8]}-${topics[(at >> 3) % 8]}-${at}`,
        description: `Handles ${topics[(at >> 6) % 8]} of kind ${at}. Use when ${topics[(at * 7) % 8]} work comes up in area ${at % 97}.`,
        content: `Step ${at}. `.repeat(40),
      })),
    })
    for (const query of ['release blockers', 'database migration', 'secure billing', 'frontend', 'kind 512'])
      expect((await library.search(query, 5)).length).toBeGreaterThan(0)
  })
})

describe('the skills in the system prompt', () => {
  it('have one line each, in a limited section', async () => {
    const { skills } = await openSkillLibrary({
      inline: Array.from({ length: 500 }, (_, at) => ({
        name: `skill-${at}`,
        content: 'x',
        description: `line\nbreaks ${'long '.repeat(100)}`,
      })),
    })
    const section = skillSection(skills) ?? ''
    expect(Buffer.byteLength(section)).toBeLessThan(7 * 1024)
    expect(section).toMatch(/There are \d+ more: find them with search_skills\.$/)
    expect(
      section
        .split('\n')
        .filter((line) => line.startsWith('- '))
        .every((line) => line.length <= 220),
    ).toBe(true)
    expect(skillSection([])).toBeUndefined()
    expect(skillSection(skills.slice(0, 3))).not.toContain('more:')
  })
})

describe('the built-in skills', () => {
  it.each(packageSkills.map((skill) => [skill.name, skill] as const))(
    '%s meets the rules for skills',
    (_, skill) => {
      expect(skill.name).toMatch(/^[a-z]+(?:-[a-z]+)*$/)
      expect(skill.description).toMatch(/Use (?:when|before)/)
      expect(skill.description.length).toBeLessThan(250)
      expect(skill.body.split('\n').length).toBeLessThan(300)
      expect(skill.body).toMatch(/^# /)
      expect(skill.allowedTools).not.toContain('*')
    },
  )

  it('are found by their purpose', async () => {
    const library = await openSkillLibrary({ builtin: true })
    const first = async (query: string): Promise<string | undefined> =>
      (await library.search(query, 1))[0]?.name
    expect(await first('please review my pull request')).toBe('review-change')
    expect(await first('this test is flaky, debug it')).toBe('find-cause')
    expect(await first('make a skill out of this procedure')).toBe('write-skill')
  })
})
