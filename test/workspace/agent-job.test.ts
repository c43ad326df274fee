import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import { type ScriptedToolCall, scriptedModel } from '../../src/testing/index.js'
import {
  createMemoryBackend,
  createMemoryFiles,
  createOverlayBackend,
  createSshBackend,
} from '../../src/workspace/index.js'
import { hasContainer, makeContainer } from '../support/container.js'
import { hasSshServer, makeSshServer } from '../support/ssh-server.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const timeout = 300_000

const project: Readonly<Record<string, string>> = {
  'src/add.sh': 'add() { echo $(($1 - $2)); }\n',
  'test.sh': '. ./src/add.sh\n[ "$(add 2 3)" = 5 ] && echo passed || { echo failed; exit 1; }\n',
}
/** Fixed, so that equal content is an equal commit. */
const identity = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
}

function makeProject(): string {
  const root = temporaryDirectory()
  for (const [path, text] of Object.entries(project)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  git(root, 'init', '--quiet', '--initial-branch=main')
  git(root, 'add', '-A')
  git(root, 'commit', '--quiet', '--message=first')
  return root
}

function git(root: string, ...args: readonly string[]): string {
  const env = { PATH: process.env['PATH'], HOME: root, GIT_CONFIG_NOSYSTEM: '1', ...identity }
  return execFileSync('git', args, { cwd: root, env, encoding: 'utf8' }).trim()
}

const edits = [
  { name: 'read', args: { file_path: 'src/add.sh' } },
  { name: 'edit', args: { file_path: 'src/add.sh', old_string: '$1 - $2', new_string: '$1 + $2' } },
  { name: 'grep', args: { pattern: 'add' } },
]
const commands = [
  { name: 'bash', args: { command: 'sh test.sh' } },
  { name: 'bash', args: { command: 'git add -A && git commit --quiet -m "fix add" && git status --short' } },
]

/** Lets a scripted model do its calls one by one, and returns what the tools answered. */
async function work(
  root: string,
  calls: readonly ScriptedToolCall[],
  options: SessionOptions,
): Promise<readonly string[]> {
  const agent = await Agent.create({ providers: [] }, { userDir: temporaryDirectory(), env: {} })
  const steps = calls.map((call) => ({ toolCalls: [call] }))
  const session = agent.session(root, {
    model: scriptedModel([...steps, 'done']),
    permissionPolicy: { defaultDecision: 'allow', allow: ['bash(*)'] },
    sandbox: 'off',
    env: identity,
    ...options,
  })
  const { workspaceBackend: backend } = options
  await session.send('Fix add.')
  const answers = session
    .history()
    .flatMap((message) => (message.role === 'tool' ? [JSON.stringify(message.content)] : []))
    .map((text) => text.replaceAll(/"duration_ms":\d+/g, '"duration_ms":0'))
  if (backend?.kind === 'overlay') await session.commit()
  await agent.close()
  return answers
}

describe('the same job on each backend', () => {
  it('edits, tests and commits with equal results', { timeout }, async () => {
    const local = makeProject()
    const answers = await work(local, [...edits, ...commands], {})
    expect(answers.join('\n')).toContain('passed')
    expect(git(local, 'log', '--format=%s')).toBe('fix add\nfirst')
    const commit = git(local, 'rev-parse', 'HEAD')

    const overlay = makeProject()
    const edited = await work(overlay, edits, { workspaceBackend: createOverlayBackend(overlay) })
    expect(edited).toEqual(answers.slice(0, edits.length))
    await work(overlay, commands, {})
    expect(git(overlay, 'rev-parse', 'HEAD')).toBe(commit)

    const memory = createMemoryFiles({ files: project })
    const inMemory = await work('.', edits, { workspaceBackend: createMemoryBackend(memory) })
    expect(inMemory).toEqual(answers.slice(0, edits.length))
    expect(await memory.readText('src/add.sh')).toBe(git(local, 'show', 'HEAD:src/add.sh').concat('\n'))

    if (hasContainer) {
      const contained = makeProject()
      const workspaceBackend = makeContainer(contained)
      expect(await work('.', [...edits, ...commands], { workspaceBackend })).toEqual(answers)
      expect(git(contained, 'rev-parse', 'HEAD')).toBe(commit)
    }

    if (!hasSshServer) return
    const remote = makeProject()
    const server = makeSshServer(temporaryDirectory())
    const workspaceBackend = createSshBackend({ ...server, root: remote })
    expect(await work('.', [...edits, ...commands], { workspaceBackend })).toEqual(answers)
    expect(git(remote, 'rev-parse', 'HEAD')).toBe(commit)
  })
})
