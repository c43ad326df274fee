import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { extractBlocks } from '../house/docs-blocks.js'
import { printed, root, run, runNode } from '../house/run.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const command = join(root, 'dist/cli/main.js')

describe('the guides', () => {
  it('run in CI: the script of the workflow runs, and writes a result with the exit code 0', async () => {
    const [workflow] = blocksOf('docs/guides/ci.md', 'yaml')
    const steps: { run?: string; env?: Record<string, string> }[] = parse(workflow ?? '').jobs.review.steps
    const script = steps.find((step) => step.run?.includes('capstan run'))?.run ?? ''
    const folder = temporaryDirectory()
    mkdirSync(join(folder, 'home'))
    // The pull request: a branch next to origin/main.
    const git = 'git -c user.name=t -c user.email=t@example.test'
    const before = `git init -q . && ${git} commit -q --allow-empty -m a && git branch origin/main && echo a > a.txt && git add a.txt && ${git} commit -q -m b`
    const lines = `${before} >/dev/null 2>&1\nnpx() { shift; "$NODE" "$COMMAND" "$@"; }\n${script}`
    const env = {
      NODE: process.execPath,
      COMMAND: command,
      CAPSTAN_HOME: join(folder, 'home'),
      CAPSTAN_MODEL: 'offline',
    }
    const outcome = await run('bash', ['-e', '-c', lines], { cwd: folder, env })
    expect(printed(outcome)).toMatch(/^exit code 0\n/)
    expect(JSON.parse(readFileSync(join(folder, 'review.json'), 'utf8'))).toMatchObject({ exitCode: 0 })
    expect(readFileSync(join(folder, 'change.diff'), 'utf8')).toContain('+a')
  })

  it.each([
    ['docs/guides/ci.md', 'run'],
    ['docs/guides/service.md', 'serve'],
  ])('%s names only options that capstan %s has', async (page, name) => {
    const { stdout } = await runNode([command, name, '--help'])
    const known = new Set(stdout.match(/--[a-z-]+/g))
    const lines = readFileSync(join(root, page), 'utf8')
      .replaceAll('\\\n', ' ')
      .match(new RegExp(`capstan ${name} .*`, 'g'))
    const used = (lines ?? []).flatMap((line) => line.match(/(?<=\s)--[a-z-]+/g) ?? [])
    expect(used.length).toBeGreaterThan(1)
    expect(used.filter((option) => !known.has(option))).toEqual([])
  })

  it('choose a model: names the existing error codes', () => {
    const page = readFileSync(join(root, 'docs/guides/choose-a-model.md'), 'utf8')
    const models = readFileSync(join(root, 'docs/models.md'), 'utf8')
    const codes = page.match(/`model_\w+`/g) ?? []
    expect(codes.length).toBeGreaterThan(4)
    expect(codes.filter((code) => !models.includes(`| ${code} |`))).toEqual([])
  })
})

function blocksOf(page: string, language: string): string[] {
  return extractBlocks(page, readFileSync(join(root, page), 'utf8'))
    .filter((block) => block.language === language)
    .map(({ code }) => code)
}
