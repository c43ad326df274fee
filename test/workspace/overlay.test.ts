import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createOverlayBackend, type OverlayBackendOptions } from '../../src/workspace/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

async function openOverlay(
  files: Readonly<Record<string, string>>,
  limits: OverlayBackendOptions = {},
): Promise<{
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
    workspaceBackend: createOverlayBackend(root, limits),
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

  it('holds no more bytes than its limit, says so, and counts a file once however often it is written', async () => {
    const { session, onDisk } = await openOverlay({ 'a.txt': 'one\n' }, { maxBytes: 100 })
    for (let at = 0; at < 5; at++) await write(session, 'a.txt', `${at}`.repeat(80))
    const refused = JSON.stringify(await write(session, 'b.txt', 'x'.repeat(30)))
    expect(refused).toContain('overlay_full')
    expect(refused).toContain('110 bytes in memory, and it can hold 100 bytes')
    expect(await session.readFile('a.txt')).toBe('4'.repeat(80))
    expect(await session.commit()).toEqual({ written: ['a.txt'], removed: [] })
    await write(session, 'b.txt', 'x'.repeat(30))
    expect(await session.commit()).toEqual({ written: ['b.txt'], removed: [] })
    expect(onDisk('b.txt')).toBe('x'.repeat(30))
    await session.close()
  })

  it('holds no more changed paths than its limit, and moves a directory whole or not at all', async () => {
    const files = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`d/${at}.txt`, `${at}`]))
    const { session, root } = await openOverlay(files, { maxPaths: 9 })
    const overlay = createOverlayBackend(root, { maxPaths: 9 })
    const { fileSystem } = await overlay.open({ onNotice: () => undefined })
    // Five paths are taken away and five come: one too many.
    await expect(fileSystem.move(join(root, 'd'), join(root, 'e'))).rejects.toMatchObject({
      code: 'overlay_full',
    })
    expect(await fileSystem.lstat(join(root, 'e'))).toBe(undefined)
    expect((await fileSystem.list(join(root, 'd'), 10)).length).toBe(4)
    for (let at = 0; at < 9; at++) await write(session, `new-${at}.txt`, '')
    expect(JSON.stringify(await write(session, 'new-9.txt', ''))).toContain('overlay_full')
    await write(session, 'new-8.txt', 'again')
    await session.discard()
    await write(session, 'new-9.txt', '')
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
