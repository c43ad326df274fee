import { execFile, execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { judge } from '../../authority/judge.js'
import type { Rule } from '../../authority/rule.js'
import { createRuleBook } from '../../authority/rule-book.js'
import { openRuleFiles, RuleFileError, type RuleFiles } from './rule-files.js'

let base: string
let root: string
let files: RuleFiles
beforeEach(async () => {
  base = temporaryDirectory()
  root = join(base, 'work')
  await mkdir(join(root, '.capstan'), { recursive: true })
  files = await openRuleFiles({ root, userDir: join(base, 'user') })
})

const scope = (): { variables: { workspace: string[] } } => ({ variables: { workspace: [root] } })
const verdict = async (tool: string, command: string): Promise<string> => {
  const { rules } = await files.load(scope())
  return judge({ tool, subjects: [{ shell: { text: command } }] }, createRuleBook({ rules, scope: scope() }))
    .verdict.action
}

describe('rule files', () => {
  it('are empty when there are none', async () => {
    expect(await files.load(scope())).toEqual({ rules: [] })
  })

  it('save the user’s approvals in a readable form', async () => {
    await files.add({ permission: 'bash', pattern: 'npm test', action: 'allow', source: 'project' })
    await files.add({ permission: 'write', pattern: 'docs/**', action: 'ask', source: 'project' })
    expect(await readFile(files.userFile, 'utf8')).toMatch(
      /^# Rules for .*\nallow bash\(npm test\)\nask write\(docs\/\*\*\)\n$/,
    )
    expect(await verdict('bash', 'npm test')).toBe('allow')
    expect((await stat(files.userFile)).mode & 0o077).toBe(0)
  })

  it('of a repository can restrict at once, and allow nothing until they are confirmed', async () => {
    await writeFile(files.workspaceFile, 'allow bash\ndeny bash(rm *)\n')
    expect(await verdict('bash', 'npm test')).toBe('ask')
    expect(await verdict('bash', 'rm x')).toBe('deny')
    const { workspace } = await files.load(scope())
    expect(workspace?.confirmed).toBe(false)
    await files.confirm(workspace?.confirmation ?? '')
    expect(await verdict('bash', 'npm test')).toBe('allow')
  })

  it('lose their confirmation when their text changes', async () => {
    await writeFile(files.workspaceFile, 'allow bash(npm test)\n')
    await files.confirm((await files.load(scope())).workspace?.confirmation ?? '')
    await writeFile(files.workspaceFile, 'allow bash(npm test)\nallow bash\n')
    expect((await files.load(scope())).workspace?.confirmed).toBe(false)
    expect(await verdict('bash', 'npm test')).toBe('ask')
  })

  it('are confirmed for one directory only', async () => {
    await writeFile(files.workspaceFile, 'allow bash\n')
    const { workspace } = await files.load(scope())
    const elsewhere = join(base, 'elsewhere')
    await mkdir(join(elsewhere, '.capstan'), { recursive: true })
    await writeFile(join(elsewhere, '.capstan/rules'), 'allow bash\n')
    const others = await openRuleFiles({ root: elsewhere, userDir: join(base, 'user') })
    await others.confirm(workspace?.confirmation ?? '')
    expect((await others.load({ variables: { workspace: [elsewhere] } })).workspace?.confirmed).toBe(false)
  })

  it('that cannot be parsed stop everything, with the line', async () => {
    await writeFile(files.workspaceFile, 'allow bash\nallwo read\n')
    await expect(files.load(scope())).rejects.toThrow(/\.capstan\/rules cannot be used: Line 2/)
  })

  it('are never read through a link', async () => {
    await writeFile(join(base, 'trusted'), 'allow bash\n')
    await symlink(join(base, 'trusted'), files.workspaceFile)
    await expect(files.load(scope())).rejects.toThrow(/symbolic link/)
  })
})

const allow = (pattern: string, over: Partial<Rule> = {}): Rule => ({
  permission: 'write',
  pattern,
  action: 'allow',
  source: 'project',
  ...over,
})
const patternsOf = async (): Promise<string[]> =>
  (await files.load(scope())).rules.map(({ pattern }) => pattern).sort()
const left = async (): Promise<string[]> => readdir(dirname(files.userFile))

describe('adding a rule', () => {
  it.each<[string, Rule]>([
    ['rules of its own', allow('a)\nallow bash\n#')],
    ['rules of its own by another line break', allow('a)\rallow bash\r#')],
    ['rules of its own in the reason', allow('a', { reason: 'x\nallow bash' })],
    ['a pattern that ends early', allow('a)b')],
    ['a pattern that cannot be read', allow('a[')],
    ['an example that it does not match', allow('a', { match: ['b'] })],
    ['the opposite of what is there', allow('kept', { action: 'deny' })],
    ['a rule that is not confirmed', allow('a', { untrusted: true })],
    ['a rule for the call alone', allow('*', { callOnly: true })],
  ])('writes nothing for %s', async (_, rule) => {
    await files.add(allow('kept'))
    const before = await readFile(files.userFile, 'utf8')
    await expect(files.add(rule)).rejects.toThrow(RuleFileError)
    expect(await readFile(files.userFile, 'utf8')).toBe(before)
    expect(await left()).toEqual(['rules'])
  })

  it('does not let the name of the workspace write rules', async () => {
    const odd = join(base, 'a\nallow bash\n#')
    await mkdir(odd)
    const others = await openRuleFiles({ root: odd, userDir: join(base, 'user') })
    await others.add(allow('a'))
    expect(await readFile(others.userFile, 'utf8')).toMatch(/^# Rules for one project.*\nallow write\(a\)\n$/)
  })

  it('does not change a file that it cannot parse', async () => {
    await files.add(allow('a'))
    await writeFile(files.userFile, 'allwo read\n')
    await expect(files.add(allow('b'))).rejects.toThrow(/Line 1/)
    expect(await readFile(files.userFile, 'utf8')).toBe('allwo read\n')
  })

  it('checks examples in the given scope', async () => {
    const example = allow('~/x', { match: ['/elsewhere/x'] })
    await expect(files.add(example)).rejects.toThrow('does not match its example')
    await files.add(example, { ...scope(), home: '/elsewhere' })
  })

  it('keeps all rules that are added concurrently', async () => {
    const others = await openRuleFiles({ root, userDir: join(base, 'user') })
    const names = [...'abcdefgh']
    await Promise.all(names.map((name, at) => (at % 2 === 0 ? files : others).add(allow(name))))
    expect(await patternsOf()).toEqual(names)
    expect(await left()).toEqual(['rules'])
  })

  it('keeps all rules that two processes add', async () => {
    const module = new URL('./rule-files.js', import.meta.url)
    const typescript = resolve(import.meta.dirname, '../../../test/support/typescript.mjs')
    const script = `
      const [root, userDir, name] = process.argv.slice(1)
      const { openRuleFiles } = await import(${JSON.stringify(module.href)})
      const files = await openRuleFiles({ root, userDir })
      for (let at = 10; at < 30; at++)
        await files.add({ permission: 'write', pattern: name + at, action: 'allow', source: 'project' })`
    const start = (name: string): Promise<unknown> =>
      promisify(execFile)(process.execPath, [
        ...['--import', typescript, '--input-type=module', '-e', script],
        ...[root, join(base, 'user'), name],
      ])
    await Promise.all([start('a'), start('b')])
    const numbers = Array.from({ length: 20 }, (_, at) => at + 10)
    expect(await patternsOf()).toEqual(['a', 'b'].flatMap((name) => numbers.map((at) => name + at)))
    expect(await left()).toEqual(['rules'])
  })

  it('does not wait for a process that has ended, nor for one that takes far too long', async () => {
    await files.add(allow('a'))
    const lock = `${files.userFile}.lock`
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }))
    await writeFile(lock, JSON.stringify({ pid: gone, host: hostname(), token: '' }))
    await Promise.all([files.add(allow('b')), files.add(allow('c'))])
    await writeFile(lock, '')
    await utimes(lock, 0, 0)
    await files.add(allow('d'))
    expect(await patternsOf()).toEqual(['a', 'b', 'c', 'd'])
    expect(await left()).toEqual(['rules'])
  })
})

describe('a rule file that is far too long', () => {
  it('is not read into memory', async () => {
    await writeFile(files.workspaceFile, '')
    await truncate(files.workspaceFile, 2 ** 40)
    await expect(files.load(scope())).rejects.toThrow(/longer than \d+ bytes/)
  })
})
