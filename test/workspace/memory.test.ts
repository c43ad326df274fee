import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { MemorySessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { JsonObject } from '../../src/tool/json.js'
import { createMemoryBackend, createMemoryFiles } from '../../src/workspace/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const call = (name: string, args: JsonObject) => ({ toolCalls: [{ name, args }] })

async function openAgent(): Promise<{ readonly agent: Agent; readonly base: string }> {
  const base = temporaryDirectory()
  return { agent: await Agent.create({ providers: [] }, { userDir: base, env: {}, cwd: base }), base }
}

describe('a session on a workspace in memory', () => {
  it('reads, edits, patches and searches through the gate, and touches no disk', async () => {
    const { agent, base } = await openAgent()
    const files = createMemoryFiles({
      files: {
        'AGENTS.md': 'Always answer in haiku.',
        'src/a.ts': 'export const a = 1\n',
        'notes.md': '# Notes\n',
      },
    })
    const patch = '--- a/notes.md\n+++ b/notes.md\n@@ -1 +1,2 @@\n # Notes\n+More.\n'
    const model = scriptedModel([
      call('read', { file_path: 'src/a.ts' }),
      call('edit', { file_path: 'src/a.ts', old_string: 'a = 1', new_string: 'a = 2' }),
      call('write', { file_path: 'docs/new.md', content: 'needle\n' }),
      call('patch', { file_path: 'notes.md', diff: patch }),
      call('grep', { pattern: 'needle|More' }),
      call('glob', { pattern: '**/*.md' }),
      call('ls', { path: 'docs' }),
      'done',
    ])
    const session = agent.session('.', {
      workspaceBackend: createMemoryBackend(files),
      model,
      permissionPolicy: { defaultDecision: 'allow' },
    })
    expect(session.workspace).toBe('/workspace')
    expect((await session.send('Work.')).text).toBe('done')
    expect(await files.readText('src/a.ts')).toBe('export const a = 2\n')
    expect(await files.readText('docs/new.md')).toBe('needle\n')
    expect(await files.readText('notes.md')).toBe('# Notes\nMore.\n')
    const results = JSON.stringify(model.requests.at(-1))
    for (const text of ['docs/new.md', 'notes.md:2', 'new.md']) expect(results).toContain(text)
    expect(JSON.stringify(model.requests[0])).toContain('Always answer in haiku.')
    await session.undo()
    expect(await files.readText('src/a.ts')).toBe('export const a = 1\n')
    await session.close()
    expect(readdirSync(base)).toEqual([])
  })

  it('applies the rules to paths, and refuses commands without a sandbox with a code', async () => {
    const { agent } = await openAgent()
    const files = createMemoryFiles({ files: { '.env': 'KEY=1', 'a.txt': 'a' } })
    const model = scriptedModel([
      call('read', { file_path: '.env' }),
      call('read', { file_path: '../outside' }),
      call('bash', { command: 'ls' }),
      call('git', { command: 'status' }),
      'done',
    ])
    const session = agent.session('.', {
      workspaceBackend: createMemoryBackend(files),
      model,
      sandbox: 'off',
      permissionPolicy: { deny: ['read(**/.env)'], defaultDecision: 'allow' },
    })
    await session.send('Work.')
    expect(JSON.stringify(model.requests)).not.toContain('KEY=1')
    const direct = await session.tool('bash', { command: 'ls' })
    expect(direct.exitCode).not.toBe(0)
    expect(JSON.stringify(direct)).toContain('commands_unavailable')
    expect(direct.output).toContain('only a sandbox keeps them there')
    await expect(session.commit()).rejects.toMatchObject({ code: 'commit_unavailable' })
    await session.close()
  })

  it('is opened again only with a backend, never in a directory of the same name', async () => {
    const { agent } = await openAgent()
    const files = createMemoryFiles({ root: '/tmp', files: { 'a.txt': 'in memory' } })
    const sessionStore = new MemorySessionStore()
    const workspaceBackend = createMemoryBackend(files)
    await agent.session('.', { workspaceBackend, sessionStore, sessionId: 's' }).close()
    expect(() => agent.resumeSession('s', { sessionStore })).toThrow(/not on this machine/)
    expect(() => agent.resumeSession('s', { sessionStore, trustStore: true })).toThrow(/not on this machine/)
    const resumed = agent.resumeSession('s', { sessionStore, workspaceBackend })
    expect(await resumed.readFile('a.txt')).toBe('in memory')
  })

  it('rejects directories of this machine next to it', async () => {
    const { agent, base } = await openAgent()
    const workspaceBackend = createMemoryBackend(createMemoryFiles())
    expect(() => agent.session('.', { workspaceBackend, roots: [base] })).toThrow(/memory backend/)
  })

  it('shares its files with subagents', async () => {
    const { agent } = await openAgent()
    const files = createMemoryFiles({ files: { 'a.txt': 'a' } })
    const model = scriptedModel((request) => {
      const text = JSON.stringify(request.chatHistory)
      if (text.includes('delegated work'))
        return text.includes('by-child.txt')
          ? 'child done'
          : call('write', { file_path: 'by-child.txt', content: 'x' })
      return text.includes('child done')
        ? 'done'
        : call('task', { agent: 'general', description: 'd', prompt: 'delegated work' })
    })
    const session = agent.session('.', {
      workspaceBackend: createMemoryBackend(files),
      model,
      permissionPolicy: { defaultDecision: 'allow' },
    })
    await session.send('Work.')
    expect(await files.readText('by-child.txt')).toBe('x')
  })
})
