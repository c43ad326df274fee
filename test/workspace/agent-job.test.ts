import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { type ScriptedToolCall, scriptedModel } from '../../src/testing/index.js'
import {
  createMemoryBackend,
  createMemoryFiles,
  createOverlayBackend,
  createSshBackend,
} from '../../src/workspace/index.js'
import { provenSandbox } from '../../src/workspace/sandbox/doctor.js'
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
  // A test that writes: its report belongs to the commit too, with its mode.
  {
    name: 'bash',
    args: {
      command: 'sh test.sh | tee report.txt && mkdir bin && cp test.sh bin/check && chmod +x bin/check',
    },
  },
  { name: 'read', args: { file_path: 'report.txt' } },
  { name: 'bash', args: { command: 'rm report.txt && ls' } },
  { name: 'bash', args: { command: 'git add -A && git commit --quiet -m "fix add" && git status --short' } },
  { name: 'bash', args: { command: 'git rev-parse HEAD' } },
]
const job = [...edits, ...commands]

async function openAgent(): Promise<Agent> {
  return Agent.create({ providers: [] }, { userDir: temporaryDirectory(), env: {} })
}

/** A session whose model makes these calls one by one. */
function openSession(
  agent: Agent,
  root: string,
  calls: readonly ScriptedToolCall[],
  options: SessionOptions,
): Session {
  return agent.session(root, {
    model: scriptedModel([...calls.map((call) => ({ toolCalls: [call] })), 'done']),
    permissionPolicy: { defaultDecision: 'allow', allow: ['bash(*)'] },
    env: identity,
    ...options,
  })
}

/** Does the job, and returns what the tools answered. */
async function answersOf(session: Session): Promise<readonly string[]> {
  await session.send('Fix add.')
  return session
    .history()
    .flatMap((message) => (message.role === 'tool' ? [JSON.stringify(message.content)] : []))
    .map((text) => text.replaceAll(/"duration_ms":\d+/g, '"duration_ms":0'))
}

async function work(
  root: string,
  calls: readonly ScriptedToolCall[],
  options: SessionOptions,
): Promise<readonly string[]> {
  const agent = await openAgent()
  const answers = await answersOf(openSession(agent, root, calls, options))
  await agent.close()
  return answers
}

/** The files below a directory, by path. */
function filesBelow(root: string, path = ''): Record<string, Uint8Array> {
  const found: Record<string, Uint8Array> = {}
  for (const name of readdirSync(join(root, path))) {
    const below = path === '' ? name : `${path}/${name}`
    if (statSync(join(root, below)).isDirectory()) Object.assign(found, filesBelow(root, below))
    else found[below] = readFileSync(join(root, below))
  }
  return found
}

const hasSandbox = (await provenSandbox({})).kind !== 'none'

describe('the same job on each backend', () => {
  it('edits, tests and commits with equal results', { timeout }, async () => {
    const local = makeProject()
    const answers = await work(local, job, { sandbox: 'off' })
    const commit = git(local, 'rev-parse', 'HEAD')
    expect(answers.join('\n')).toContain('passed')
    expect(answers.at(-1)).toContain(commit)
    expect(git(local, 'log', '--format=%s')).toBe('fix add\nfirst')

    if (hasSandbox) {
      const overlay = makeProject()
      const before = git(overlay, 'rev-parse', 'HEAD')
      const agent = await openAgent()
      const session = openSession(agent, overlay, job, { workspaceBackend: createOverlayBackend(overlay) })
      expect(await answersOf(session)).toEqual(answers)
      expect(git(overlay, 'rev-parse', 'HEAD')).toBe(before)
      expect(git(overlay, 'status', '--short')).toBe('')
      await session.commit()
      await agent.close()
      expect(git(overlay, 'rev-parse', 'HEAD')).toBe(commit)
      expect(git(overlay, 'status', '--short')).toBe('')
      expect(git(overlay, 'fsck', '--strict')).toBe('')

      const memory = createMemoryFiles({ files: filesBelow(makeProject()) })
      expect(await work('.', job, { workspaceBackend: createMemoryBackend(memory) })).toEqual(answers)
      expect((await memory.readText('.git/refs/heads/main')).trim()).toBe(commit)
      expect(await memory.readText('src/add.sh')).toBe(git(local, 'show', 'HEAD:src/add.sh').concat('\n'))
    }

    if (hasContainer) {
      const contained = makeProject()
      const workspaceBackend = makeContainer(contained)
      expect(await work('.', job, { workspaceBackend })).toEqual(answers)
      expect(git(contained, 'rev-parse', 'HEAD')).toBe(commit)
    }

    if (!hasSshServer) return
    const remote = makeProject()
    const server = makeSshServer(temporaryDirectory())
    const workspaceBackend = createSshBackend({ ...server, root: remote })
    expect(await work('.', job, { workspaceBackend })).toEqual(answers)
    expect(git(remote, 'rev-parse', 'HEAD')).toBe(commit)
  })
})
