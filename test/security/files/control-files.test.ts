import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../../src/agent/agent.js'
import type { SessionOptions } from '../../../src/session/options.js'
import { makeWorkspace, whenDone } from '../../contract/open-session.js'
import { byPrompt, call } from '../../contract/subagents.js'

/** Files that other programs obey: shells, package managers, editors, git, coding agents. */
const controlFiles = [
  ...[
    '.git',
    '.git/config',
    '.git/hooks/pre-commit',
    'sub/.git/config',
    '.GIT/config',
    '.git./config',
    '.g\u200cit/config',
  ],
  ...[
    'node_modules/x/.git/config',
    'GIT~1/config',
    '.git::$INDEX_ALLOCATION/config',
    'd/../.git/info/attributes',
  ],
  ...['.capstan/rules', '.CapStan/x', 'sub/.capstan/hooks/x', '.mcp.json', '.MCP.JSON', './.mcp.json/.'],
  ...['.npmrc', 'd/../.npmrc', 'sub/.npmrc', '.yarnrc', '.yarnrc.yml', '.envrc', '.husky/pre-commit'],
  ...['.vscode/tasks.json', '.idea/workspace.xml', '.agents/skills/x/SKILL.md', '.agent/x'],
  ...[
    '.claude/settings.json',
    'sub/.claude/settings.local.json',
    '.claude/agents/x.md',
    '.claude/hooks/x.sh',
  ],
  ...['.cursor/mcp.json', '.Cursor/mcp.json', '.codex/config.toml', '.gemini/settings.json'],
]
/** Paths that lead out of the workspace. */
const outside = [
  ...[
    '/proc/self/root/etc/capstan-test',
    '/proc/self/cwd/../x',
    '/dev/fd/0',
    '/dev/stdin',
    '~/.capstan-test',
    '../out',
  ],
  ...['d/../../out', '//etc/capstan-test', '/proc/1/root/x', '/tmp/../etc/capstan-test', 'a\u0000b'],
]

type Attempt = { readonly path: string; readonly text: string; readonly asked: boolean }

/** Lets a model write each path with each file tool, in one session; every question is answered with no. */
async function writeAll(
  paths: readonly string[],
  options: SessionOptions,
): Promise<{ root: string; attempts: Attempt[] }> {
  const { root, userDir } = await makeWorkspace({ 'd/a.txt': 'a\n', 'sub/a.txt': 'a\n' })
  const model = byPrompt(({ prompt, turn, results }) => {
    if (turn > 0) return results.join('\n')
    const [name = '', path = ''] = prompt.split('\n')
    return name === 'patch'
      ? call('patch', { diff: `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+evil\n` })
      : call(name, { file_path: path, content: 'evil\n' })
  })
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  let asks = 0
  const onAsk: SessionOptions['onAsk'] = () => {
    asks++
    return { decision: 'reject' }
  }
  const session = agent.session(root, { sandbox: 'off', model, onAsk, ...options })
  const attempts: Attempt[] = []
  for (const path of paths)
    for (const tool of ['write', 'patch']) {
      const before = asks
      const { text } = await session.send(`${tool}\n${path}`)
      attempts.push({ path: `${tool} ${path}`, text, asked: asks > before })
    }
  return { root, attempts }
}

describe.each([
  ['with everything allowed', { permissionPolicy: { allow: ['*'] } }],
  ['in the mode accept-edits', { mode: 'accept-edits' }],
  ['in the mode full', { mode: 'full' }],
] as const)('%s, a model that writes', (_, options) => {
  it('a file that other programs execute or load is asked about or refused', {
    timeout: 240_000,
  }, async () => {
    const { root, attempts } = await writeAll(controlFiles, options as SessionOptions)
    const unasked = attempts.filter(({ text, asked }) => !asked && !/^Error: /.test(text))
    expect(unasked).toEqual([])
    for (const path of [
      '.git',
      '.capstan',
      '.mcp.json',
      '.npmrc',
      '.claude',
      '.cursor',
      '.yarnrc',
      'sub/.git',
      'sub/.claude',
    ])
      expect(lstatSync(join(root, path), { throwIfNoEntry: false }), path).toBeUndefined()
  })

  it('a path outside the workspace is refused', { timeout: 240_000 }, async () => {
    const { root, attempts } = await writeAll(outside, options as SessionOptions)
    expect(attempts.filter(({ text }) => !/^Error: /.test(text))).toEqual([])
    expect(lstatSync(join(root, '../out'), { throwIfNoEntry: false })).toBeUndefined()
  })
})
