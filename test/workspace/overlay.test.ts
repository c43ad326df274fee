import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createOverlayBackend } from '../../src/workspace/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

async function openOverlay(files: Readonly<Record<string, string>>): Promise<{
  readonly session: Session
  readonly root: string
  onDisk(path: string): string | undefined
}> {
  const root = temporaryDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const agent = await Agent.create({ providers: [] }, { userDir: temporaryDirectory(), env: {} })
  const session = agent.session(root, {
    workspaceBackend: createOverlayBackend(root),
    model: scriptedModel([]),
  })
  const onDisk = (path: string): string | undefined =>
    existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
  return { session, root, onDisk }
}

const write = (session: Session, path: string, content: string) =>
  session.tool('write', { file_path: path, content })

describe('a session on an overlay', () => {
  it('shows its changes to tools, and writes them to the disk when they are committed', async () => {
    const { session, onDisk } = await openOverlay({ 'a.txt': 'one\n', 'b/c.txt': 'two\n' })
    await session.tool('edit', { file_path: 'a.txt', old_string: 'one', new_string: 'ONE' })
    await write(session, 'new/d.txt', 'three\n')
    expect(await session.readFile('a.txt')).toBe('ONE\n')
    const found = await session.tool('grep', { pattern: 'ONE|two|three' })
    for (const path of ['a.txt', 'b/c.txt', 'new/d.txt']) expect(found.output).toContain(path)
    expect([onDisk('a.txt'), onDisk('new/d.txt')]).toEqual(['one\n', undefined])
    expect(await session.commit()).toEqual({ written: ['a.txt', 'new/d.txt'], removed: [] })
    expect([onDisk('a.txt'), onDisk('new/d.txt')]).toEqual(['ONE\n', 'three\n'])
    expect(await session.commit()).toEqual({ written: [], removed: [] })
    await session.close()
  })

  it('drops its changes when they are discarded', async () => {
    const { session, onDisk } = await openOverlay({ 'a.txt': 'one\n' })
    await write(session, 'a.txt', 'other')
    expect(await session.discard()).toEqual({ discarded: ['a.txt'] })
    expect([await session.readFile('a.txt'), onDisk('a.txt')]).toEqual(['one\n', 'one\n'])
    await session.close()
  })

  it('commits nothing when one file changed on the disk meanwhile, and keeps its changes', async () => {
    const { session, root, onDisk } = await openOverlay({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    await write(session, 'a.txt', 'mine')
    await write(session, 'b.txt', 'mine too')
    writeFileSync(join(root, 'b.txt'), 'of the user\n')
    await expect(session.commit()).rejects.toMatchObject({ code: 'file_changed' })
    expect([onDisk('a.txt'), onDisk('b.txt')]).toEqual(['one\n', 'of the user\n'])
    expect(await session.readFile('b.txt')).toBe('mine too')
    await write(session, 'new.txt', 'mine')
    await session.discard()
    await write(session, 'new.txt', 'mine')
    writeFileSync(join(root, 'new.txt'), 'of the user\n')
    await expect(session.commit()).rejects.toMatchObject({ code: 'files_not_changed' })
    expect(onDisk('new.txt')).toBe('of the user\n')
    await session.close()
  })

  it('writes only to the paths that rules have judged: a link that appeared since leads to no other file', async () => {
    const { session, root, onDisk } = await openOverlay({ 'deploy/run.sh': 'true\n', 'd/run.sh': 'true\n' })
    await write(session, 'e/new.sh', 'mine')
    symlinkSync('deploy', join(root, 'e'))
    await expect(session.commit()).rejects.toMatchObject({ code: 'files_not_changed' })
    expect(onDisk('deploy/new.sh')).toBe(undefined)
    await session.discard()
    await session.tool('edit', { file_path: 'd/run.sh', old_string: 'true', new_string: 'false' })
    renameSync(join(root, 'd'), join(root, 'd-before'))
    symlinkSync('deploy', join(root, 'd'))
    await expect(session.commit()).rejects.toThrow()
    expect([onDisk('deploy/run.sh'), onDisk('d-before/run.sh')]).toEqual(['true\n', 'true\n'])
    await session.close()
  })

  it('commits through the checks of the disk: a link that appeared since leads nowhere', async () => {
    const { session, root } = await openOverlay({ 'd/a.txt': 'one\n' })
    const outside = temporaryDirectory()
    await write(session, 'e/b.txt', 'mine')
    symlinkSync(outside, join(root, 'e'))
    await expect(session.commit()).rejects.toMatchObject({ code: 'files_not_changed' })
    expect(existsSync(join(outside, 'b.txt'))).toBe(false)
    await session.close()
  })

  it('refuses commands, because they would work on the directory itself', async () => {
    const { session, onDisk } = await openOverlay({ 'a.txt': 'one\n' })
    const ran = await session.tool('bash', { command: 'echo changed > a.txt' })
    expect(JSON.stringify(ran)).toContain('commands_unavailable')
    expect(onDisk('a.txt')).toBe('one\n')
    await session.close()
  })
})
