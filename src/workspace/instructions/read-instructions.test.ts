import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { type InstructionOptions, readInstructions } from './read-instructions.js'

/** A directory with these files; a text that begins with `->` is a link to what follows. */
async function directory(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const base = temporaryDirectory()
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(base, path)), { recursive: true })
    if (typeof content === 'string' && content.startsWith('->'))
      await symlink(content.slice(2), join(base, path))
    else await writeFile(join(base, path), content)
  }
  return base
}

const textsOf = async (options: InstructionOptions): Promise<string[]> =>
  (await readInstructions(options)).files.map(({ text }) => text)

describe('the instructions of a project', () => {
  it('are read from the root of its repository down, the nearest last, those of the user first', async () => {
    const base = await directory({
      'AGENTS.md': 'outside',
      'repo/.git/HEAD': '',
      'repo/AGENTS.md': 'root',
      'repo/a/CLAUDE.md': 'middle',
      'repo/a/b/AGENTS.md': 'nearest\n',
      'repo/a/b/c/AGENTS.md': 'below',
      'user/AGENTS.md': 'mine',
    })
    const root = join(base, 'repo/a/b')
    const { files, problems } = await readInstructions({ root, userDir: join(base, 'user') })
    expect(files).toEqual([
      { path: join(base, 'user/AGENTS.md'), text: 'mine', truncated: false },
      { path: join(base, 'repo/AGENTS.md'), text: 'root', truncated: false },
      { path: join(base, 'repo/a/CLAUDE.md'), text: 'middle', truncated: false },
      { path: 'AGENTS.md', text: 'nearest', truncated: false },
    ])
    expect(problems).toEqual([])
  })

  it('are only those of the workspace when there is no repository', async () => {
    const base = await directory({ 'AGENTS.md': 'above', 'work/AGENTS.md': 'here' })
    expect(await textsOf({ root: join(base, 'work') })).toEqual(['here'])
  })

  it('start at a work tree or a submodule, whose .git is a file', async () => {
    const base = await directory({
      '.git/HEAD': '',
      'AGENTS.md': 'outer',
      'sub/.git': 'gitdir: elsewhere',
      'sub/AGENTS.md': 'sub',
    })
    expect(await textsOf({ root: join(base, 'sub') })).toEqual(['sub'])
  })

  it('are the first file of each directory, by the requested names', async () => {
    const root = await directory({ 'AGENTS.md': 'a', 'CLAUDE.md': 'c', 'OWN.md': 'o' })
    expect(await textsOf({ root })).toEqual(['a'])
    expect(await textsOf({ root, fileNames: ['NONE.md', 'OWN.md', 'AGENTS.md'] })).toEqual(['o'])
    expect(await textsOf({ root, fileNames: [] })).toEqual([])
  })

  it('can be missing, with the directory of the user', async () => {
    const root = await directory()
    expect(await readInstructions({ root, userDir: join(root, 'no/where') })).toEqual({
      files: [],
      problems: [],
    })
  })

  it('can be a link to a file of the same project, from anywhere in it', async () => {
    const base = await directory({
      '.git/HEAD': '',
      'docs/rules.md': 'rules',
      'CLAUDE.md': '->docs/rules.md',
      'a/AGENTS.md': '->../docs/rules.md',
    })
    expect(await textsOf({ root: join(base, 'a') })).toEqual(['rules', 'rules'])
  })

  it.each([
    ['by a link', { 'repo/AGENTS.md': '->../secret.txt' }],
    ['by an absolute link', { 'repo/AGENTS.md': '->/etc/hostname' }],
    [
      'by a chain of links',
      { 'repo/AGENTS.md': '->one', 'repo/one': '->two', 'repo/two': '->../secret.txt' },
    ],
    ['by a directory that is a link', { 'repo/AGENTS.md': '->dir/secret.txt', 'repo/dir': '->..' }],
    ['into a neighbour of a like name', { 'repo/AGENTS.md': '->../repo-two/secret.txt' }],
  ])('never lead out of it %s', async (_, links) => {
    const base = await directory({
      'secret.txt': 'secret',
      'repo-two/secret.txt': 'secret',
      'repo/.git/HEAD': '',
      'repo/CLAUDE.md': 'instead',
      ...links,
    })
    const { files, problems } = await readInstructions({ root: join(base, 'repo') })
    expect(files.map(({ text }) => text)).toEqual(['instead'])
    expect(problems).toEqual([expect.stringContaining('leads out of the project')])
    expect(problems[0]).not.toContain('secret')
  })

  it('of the user do not lead out of the directory of the user', async () => {
    const base = await directory({ 'secret.txt': 's', 'user/AGENTS.md': '->../secret.txt', 'work/x': '' })
    const { files, problems } = await readInstructions({
      root: join(base, 'work'),
      userDir: join(base, 'user'),
    })
    expect(files).toEqual([])
    expect(problems).toHaveLength(1)
  })

  it('do not lead out of it by a requested name', async () => {
    const base = await directory({ 'secret.txt': 's', 'repo/.git/HEAD': '' })
    expect(
      (await readInstructions({ root: join(base, 'repo'), fileNames: ['../secret.txt'] })).files,
    ).toEqual([])
  })

  it('are reported when they are not a regular file, and the next name is used', async () => {
    const root = await directory({ 'CLAUDE.md': 'instead', 'ROUND.md': '->ROUND.md' })
    await mkdir(join(root, 'DIR.md'))
    execFileSync('mkfifo', [join(root, 'PIPE.md')])
    const { files, problems } = await readInstructions({
      root,
      fileNames: ['DIR.md', 'PIPE.md', 'ROUND.md', 'NUL\0.md', `${'x'.repeat(300)}.md`, 'CLAUDE.md'],
    })
    expect(files.map(({ text }) => text)).toEqual(['instead'])
    expect(problems).toHaveLength(5)
    expect(problems[0]).toMatch(/DIR\.md was not read: it is not a plain file/)
    expect(problems[1]).toMatch(/PIPE\.md was not read: it is not a plain file/)
  })

  it('are reported when they cannot be read, and the rest is used', async () => {
    const base = await directory({ '.git/HEAD': '', 'AGENTS.md': 'closed', 'a/AGENTS.md': 'open' })
    const closed = join(base, 'AGENTS.md')
    await chmod(closed, 0)
    // Some users may read everything.
    const readable = await readFile(closed).then(
      () => true,
      () => false,
    )
    const { files, problems } = await readInstructions({ root: join(base, 'a') })
    expect(files.map(({ text }) => text)).toEqual(readable ? ['closed', 'open'] : ['open'])
    expect(problems).toHaveLength(readable ? 0 : 1)
  })

  it('are cut where they are too long, between characters', async () => {
    const root = await directory({ 'AGENTS.md': `${'é'.repeat(50)}` })
    expect((await readInstructions({ root, maxBytes: 11 })).files).toEqual([
      { path: 'AGENTS.md', text: 'é'.repeat(5), truncated: true },
    ])
    expect((await readInstructions({ root, maxBytes: 100 })).files[0]).toMatchObject({ truncated: false })
    expect((await readInstructions({ root, maxBytes: 99 })).files[0]).toMatchObject({ truncated: true })
  })

  it('of any size need no more work than their limit', async () => {
    const root = await directory({ 'AGENTS.md': 'begin' })
    await truncate(join(root, 'AGENTS.md'), 2 ** 40)
    const { files } = await readInstructions({ root })
    expect(files[0]?.truncated).toBe(true)
    expect(Buffer.byteLength(files[0]?.text ?? '')).toBeLessThanOrEqual(32 * 1024)
  })

  it('share one limit, and those that do not fit are reported', async () => {
    const base = await directory({
      '.git/HEAD': '',
      'AGENTS.md': 'a'.repeat(6),
      'a/AGENTS.md': 'b'.repeat(6),
      'a/b/AGENTS.md': 'c',
    })
    const { files, problems } = await readInstructions({ root: join(base, 'a/b'), maxBytes: 10 })
    expect(files.map(({ text, truncated }) => [text, truncated])).toEqual([
      ['aaaaaa', false],
      ['bbbb', true],
    ])
    expect(problems).toEqual([expect.stringMatching(/b\/AGENTS\.md was not read: the 10 bytes .* used up/)])
  })

  it('that are not UTF-8 are decoded as far as possible, within the limit', async () => {
    const root = await directory({
      'AGENTS.md': new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff, 0x62, ...Array(20).fill(0xff)]),
    })
    const { files } = await readInstructions({ root, maxBytes: 30 })
    expect(files[0]?.text.startsWith('a\ufffdb\ufffd')).toBe(true)
    expect(files[0]?.truncated).toBe(true)
    expect(Buffer.byteLength(files[0]?.text ?? '')).toBeLessThanOrEqual(30)
  })
})
