import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { JsonObject } from '../../src/tool/json.js'
import { createOverlayBackend, type OverlayBackendOptions } from '../../src/workspace/index.js'
import { provenSandbox } from '../../src/workspace/sandbox/doctor.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

/** A machine under load takes its time for the first look at its sandboxes. */
const timeout = 300_000

async function openOverlay(
  files: Readonly<Record<string, string>>,
  limits: OverlayBackendOptions = {},
  options: SessionOptions = {},
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
    ...options,
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

  it('writes only to the paths that rules have judged: a link that was created since leads to no other file', async () => {
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

  it('commits through the checks of the disk: a link that was created since has no effect', async () => {
    const { session, root } = await openOverlay({ 'd/a.txt': 'one\n' })
    const outside = temporaryDirectory()
    await write(session, 'e/b.txt', 'mine')
    symlinkSync(outside, join(root, 'e'))
    await expect(session.commit()).rejects.toMatchObject({ code: 'files_not_changed' })
    expect(existsSync(join(outside, 'b.txt'))).toBe(false)
    await session.close()
  })

  it('holds no more bytes than its limit, reports it, and counts a file once however often it is written', async () => {
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

  it('holds no more changed paths than its limit, and moves a directory completely or not at all', async () => {
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

  it('refuses commands when no sandbox confines them to the copy', async () => {
    const { session, onDisk } = await openOverlay({ 'a.txt': 'one\n' }, {}, { sandbox: 'off' })
    const ran = await session.tool('bash', { command: 'echo changed > a.txt' })
    expect(JSON.stringify(ran)).toContain('commands_unavailable')
    expect(onDisk('a.txt')).toBe('one\n')
    await session.close()
  })
})

const sandboxes = await Promise.all(
  (['bubblewrap', 'landlock'] as const).map(async (backend) => ({
    backend,
    isThere: (await provenSandbox({ backend })).kind === backend,
  })),
)

describe.each(sandboxes)('commands on an overlay, in $backend', ({ backend, isThere }) => {
  it.skipIf(!isThere)(
    'see and make changes that reach the disk only with the commit',
    { timeout },
    async () => {
      const { session, root, onDisk } = await openOverlay(
        { 'a.txt': 'one\n', 'old.txt': '', '.env': 'KEY=secret-of-the-test\n', 'src/b.txt': '' },
        { maxBytes: 1_000_000 },
        { sandbox: backend, permissionPolicy: { deny: ['read(**/.env)'], defaultDecision: 'allow' } },
      )
      await session.tool('edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' })
      const bash = async (command: string): Promise<string> =>
        JSON.stringify(await session.tool('bash', { command }))
      const first = await bash(
        'cat a.txt; echo three >> a.txt; rm old.txt; cd src && echo new > made.sh && chmod +x made.sh; cat ../.env; pwd; echo end',
      )
      expect(first).toContain('two')
      expect(first).toContain('end')
      expect(first).not.toContain('secret-of-the-test')
      if (backend === 'bubblewrap') expect(first).toContain(`${root}/src`)
      expect(await session.readFile('a.txt')).toBe('two\nthree\n')
      // The path of the directory is the copy, or nothing: never the directory itself.
      const absolute = await bash(`cat ${root}/a.txt; echo x > ${root}/abs.txt; echo x > ${root}/src/abs.txt`)
      if (backend === 'bubblewrap') expect(absolute).toContain('three')
      expect(absolute).not.toContain('one\\n')
      const refused = await bash(
        'echo x > .mcp.json; mkdir .vscode; mkdir -p sub/.git/hooks; ln -s /etc/passwd leak; ln -s .. up; mkfifo pipe; true',
      )
      expect(refused).toContain('leak was not taken into the workspace')
      for (const path of [
        'a.txt',
        'abs.txt',
        'src/abs.txt',
        '.mcp.json',
        '.vscode',
        'leak',
        'up',
        'src/made.sh',
      ])
        expect(onDisk(path), path).toBe(path === 'a.txt' ? 'one\n' : undefined)
      expect(onDisk('old.txt')).toBe('')
      const { written, removed } = await session.commit()
      const made = backend === 'bubblewrap' ? ['abs.txt', 'src/abs.txt'] : []
      expect(written.toSorted()).toEqual(['a.txt', 'src/made.sh', ...made].toSorted())
      expect(removed).toEqual(['old.txt'])
      expect(onDisk('a.txt')).toBe('two\nthree\n')
      expect(statSync(join(root, 'src/made.sh')).mode & 0o777).toBe(0o755)

      // What does not fit stays in the copy, blocks the commit, and is removed by the discard.
      const large = await bash('head -c 2000000 /dev/zero > large.bin; echo small > small.txt')
      expect(large).toContain('Not all changes of commands are in the workspace')
      await expect(session.commit()).rejects.toMatchObject({ code: 'overlay_full' })
      await session.discard()
      expect(await bash('ls')).not.toContain('large.bin')

      // A job at work when its workspace is closed leaves nothing.
      const job = await session.tool('bash', { command: 'sleep 600', background: true })
      expect(JSON.stringify(job)).toContain('job-1')
      await session.close()
      expect(readdirSync(join(root)).toSorted()).toEqual(
        ['.env', 'a.txt', 'src', ...(backend === 'bubblewrap' ? ['abs.txt'] : [])].toSorted(),
      )
    },
  )

  it.skipIf(!isThere)(
    'handle denied files, discarded changes and jobs as in a directory',
    { timeout },
    async () => {
      const { session, root, onDisk } = await openOverlay(
        { 'a.txt': 'one\n', '.env': 'KEY=secret-of-the-test\n', 'b.txt': 'two\n' },
        {},
        { sandbox: backend, permissionPolicy: { deny: ['read(**/.env)'], defaultDecision: 'allow' } },
      )
      linkSync(join(root, '.env'), join(root, 'alias'))
      const tool = async (name: string, input: JsonObject): Promise<string> =>
        JSON.stringify(await session.tool(name, input))
      expect(await tool('bash', { command: 'cat alias; cat a.txt' })).toMatch(
        /^(?!.*secret-of-the-test).*one/,
      )

      // The changes of a command that still runs are discarded with the others, and nothing is removed with the copy.
      const running = tool('bash', { command: 'rm b.txt; echo made > c.txt; touch began; sleep 600' })
      await expect.poll(() => tool('bash', { command: 'ls' }), { timeout }).toContain('began')
      await session.discard()
      await running
      expect(await session.commit()).toEqual({ written: [], removed: [] })
      expect(onDisk('b.txt')).toBe('two\n')

      const job = await tool('bash', { command: 'ln -s /etc/passwd leak', background: true })
      expect(job).toContain('job-1')
      await expect.poll(() => tool('bash', { job_id: 'job-1' }), { timeout }).toContain('leak was not taken')
      await session.close()
    },
  )
})
