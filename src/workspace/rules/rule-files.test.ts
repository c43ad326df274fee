import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { judge } from '../../authority/judge.js'
import { createRuleBook } from '../../authority/rule-book.js'
import { openRuleFiles, type RuleFiles } from './rule-files.js'

let base: string
let root: string
let files: RuleFiles
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'capstan-rules-'))
  root = join(base, 'work')
  await mkdir(join(root, '.capstan'), { recursive: true })
  files = await openRuleFiles({ root, userDir: join(base, 'user') })
})
afterEach(() => rm(base, { recursive: true, force: true }))

const scope = (): { variables: { workspace: string[] } } => ({ variables: { workspace: [root] } })
const verdict = async (tool: string, command: string): Promise<string> => {
  const { rules } = await files.load(scope())
  return judge({ tool, subjects: [{ shell: { text: command } }] }, createRuleBook({ rules, scope: scope() }))
    .verdict.action
}

describe('rule files', () => {
  it('are empty where there are none', async () => {
    expect(await files.load(scope())).toEqual({ rules: [] })
  })

  it('keep what the user agreed to, in a file that reads like what was agreed', async () => {
    await files.add({ permission: 'bash', pattern: 'npm test', action: 'allow', source: 'project' })
    await files.add({ permission: 'write', pattern: 'docs/**', action: 'ask', source: 'project' })
    expect(await readFile(files.userFile, 'utf8')).toMatch(
      /^# Rules for .*\nallow bash\(npm test\)\nask write\(docs\/\*\*\)\n$/,
    )
    expect(await verdict('bash', 'npm test')).toBe('allow')
    expect((await stat(files.userFile)).mode & 0o077).toBe(0)
  })

  it('of a repository hold back at once, and let nothing pass until they are confirmed', async () => {
    await writeFile(files.workspaceFile, 'allow bash\ndeny bash(rm *)\n')
    expect(await verdict('bash', 'npm test')).toBe('ask')
    expect(await verdict('bash', 'rm x')).toBe('deny')
    const { workspace } = await files.load(scope())
    expect(workspace?.confirmed).toBe(false)
    await files.confirm(workspace?.confirmation ?? '')
    expect(await verdict('bash', 'npm test')).toBe('allow')
  })

  it('lose their confirmation when a word of them changes', async () => {
    await writeFile(files.workspaceFile, 'allow bash(npm test)\n')
    await files.confirm((await files.load(scope())).workspace?.confirmation ?? '')
    await writeFile(files.workspaceFile, 'allow bash(npm test)\nallow bash\n')
    expect((await files.load(scope())).workspace?.confirmed).toBe(false)
    expect(await verdict('bash', 'npm test')).toBe('ask')
  })

  it('are not shared by directories: what was confirmed here is not confirmed there', async () => {
    await writeFile(files.workspaceFile, 'allow bash\n')
    const { workspace } = await files.load(scope())
    const elsewhere = join(base, 'elsewhere')
    await mkdir(join(elsewhere, '.capstan'), { recursive: true })
    await writeFile(join(elsewhere, '.capstan/rules'), 'allow bash\n')
    const others = await openRuleFiles({ root: elsewhere, userDir: join(base, 'user') })
    await others.confirm(workspace?.confirmation ?? '')
    expect((await others.load({ variables: { workspace: [elsewhere] } })).workspace?.confirmed).toBe(false)
  })

  it('that cannot be read stop everything, with the line', async () => {
    await writeFile(files.workspaceFile, 'allow bash\nallwo read\n')
    await expect(files.load(scope())).rejects.toThrow(/\.capstan\/rules cannot be used: Line 2/)
  })

  it('are never read through a link', async () => {
    await writeFile(join(base, 'trusted'), 'allow bash\n')
    await symlink(join(base, 'trusted'), files.workspaceFile)
    await expect(files.load(scope())).rejects.toThrow(/symbolic link/)
  })
})
