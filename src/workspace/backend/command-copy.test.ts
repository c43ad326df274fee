import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createMemoryFiles, type MemoryFiles } from '../files/memory-files.js'
import { CommandCopy } from './command-copy.js'

type Made = {
  readonly copy: CommandCopy
  readonly files: MemoryFiles
  readonly at: (path: string) => string
  isBusy: boolean
}

function makeCopy(files: Readonly<Record<string, string>>, limits = { maxBytes: 1e6, maxPaths: 100 }): Made {
  const memory = createMemoryFiles({ files })
  const directory = mkdtempSync(join(temporaryDirectory(), 'copy-'))
  const made = { isBusy: false }
  const copy = new CommandCopy({
    fileSystem: memory.fileSystem,
    root: memory.root,
    directory,
    isClosed: (path) => path === `${memory.root}/closed`,
    isBusy: async () => made.isBusy,
    limits,
  })
  return Object.assign(made, { copy, files: memory, at: (path: string) => join(directory, path) })
}

describe('the copy of a workspace for commands', () => {
  it('has the content of the workspace, and follows its changes', async () => {
    const { copy, files, at } = makeCopy({ 'a.txt': 'one', 'd/b.txt': 'two', 'closed/key': 'secret' })
    expect(await copy.bringIn()).toEqual([])
    expect(readFileSync(at('d/b.txt'), 'utf8')).toBe('two')
    expect(existsSync(at('closed'))).toBe(false)
    await files.write('a.txt', 'two')
    await files.remove('d/b.txt')
    await files.remove('d')
    await files.write('d', 'a file now')
    await copy.bringIn()
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('two')
    expect(readFileSync(at('d'), 'utf8')).toBe('a file now')
    await files.remove('d')
    await files.write('d/c.txt', 'a directory again')
    await copy.bringIn()
    expect(readFileSync(at('d/c.txt'), 'utf8')).toBe('a directory again')
  })

  it('copies back what commands changed, created and removed, with modes', async () => {
    const { copy, files, at } = makeCopy({ 'a.txt': 'one', 'gone/b.txt': 'two', same: '', swap: 'file' })
    await copy.bringIn()
    writeFileSync(at('a.txt'), 'changed')
    mkdirSync(at('new/deep'), { recursive: true })
    writeFileSync(at('new/deep/run.sh'), 'echo')
    chmodSync(at('new/deep/run.sh'), 0o755)
    rmSync(at('gone'), { recursive: true })
    rmSync(at('swap'))
    mkdirSync(at('swap'))
    writeFileSync(at('swap/in'), '')
    expect(await copy.takeBack()).toEqual([])
    expect(await files.readText('a.txt')).toBe('changed')
    expect((await files.stat('new/deep/run.sh')).mode).toBe(0o755)
    expect((await files.list('.')).map(({ name }) => name).toSorted()).toEqual([
      'a.txt',
      'new',
      'same',
      'swap',
    ])
    expect((await files.list('swap')).length).toBe(1)
    // Nothing is left to do in either direction.
    const { ino } = statSync(at('a.txt'))
    await copy.bringIn()
    expect(statSync(at('a.txt')).ino).toBe(ino)
  })

  it('omits links, control files and pipes, and reports it once', async () => {
    const { copy, files, at } = makeCopy({ '.git/config': 'as it was', '.git/HEAD': 'ref', 'a.txt': '' })
    await copy.bringIn()
    symlinkSync('/etc/passwd', at('leak'))
    symlinkSync('/', at('up'))
    for (const path of [
      '.mcp.json',
      '.GIT/hooks/x',
      '.git/hooks/pre-commit',
      '.git/info/attributes',
      '.vscode/tasks.json',
      '.git/objects/info/alternates',
    ]) {
      mkdirSync(join(at(path), '..'), { recursive: true })
      writeFileSync(at(path), 'planted')
    }
    writeFileSync(at('.git/config'), '[core] fsmonitor = x')
    writeFileSync(at('.git/HEAD'), 'another ref')
    mkdirSync(at('sub/.git'), { recursive: true })
    writeFileSync(at('sub/.git/config'), 'of a new repository')
    const said = (await copy.takeBack()).join('\n')
    for (const name of [
      'leak',
      'up',
      '.mcp.json',
      '.vscode',
      '.git/config',
      '.git/hooks',
      '.git/info',
      '.git/objects/info/alternates',
    ])
      expect(said).toContain(`${name} was not taken into the workspace`)
    expect(await copy.takeBack()).toEqual([])
    expect(await files.readText('.git/config')).toBe('as it was')
    expect(await files.readText('.git/HEAD')).toBe('another ref')
    const stat = async (path: string): Promise<unknown> => files.fileSystem.lstat(`${files.root}/${path}`)
    for (const path of [
      'leak',
      'up',
      '.GIT',
      '.mcp.json',
      '.vscode',
      '.git/hooks',
      '.git/info',
      '.git/objects/info/alternates',
    ])
      expect(await stat(path), path).toBe(undefined)
    // What the sandbox let a command make, and examined, belongs to the workspace.
    expect(await files.readText('sub/.git/config')).toBe('of a new repository')
  })

  it('keeps the change of a tool when a command changed the same file', async () => {
    const { copy, files, at } = makeCopy({ 'a.txt': 'one', 'b.txt': 'one' })
    await copy.bringIn()
    writeFileSync(at('a.txt'), 'by a command')
    rmSync(at('b.txt'))
    await files.write('a.txt', 'by a tool')
    await files.write('b.txt', 'by a tool')
    expect((await copy.bringIn()).join('\n')).toContain('a.txt was changed by a tool')
    expect(await files.readText('a.txt')).toBe('by a tool')
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('by a tool')
    expect(readFileSync(at('b.txt'), 'utf8')).toBe('by a tool')
  })

  it('writes and reads nothing through a directory that a command replaced by a link', async () => {
    const { copy, files, at } = makeCopy({ 'd/a.txt': 'one', 'd/e/b.txt': 'two' })
    await copy.bringIn()
    const outside = temporaryDirectory()
    mkdirSync(join(outside, 'e'))
    writeFileSync(join(outside, 'a.txt'), 'a secret')
    writeFileSync(join(outside, 'e/b.txt'), 'a secret')
    renameSync(at('d'), at('moved'))
    symlinkSync(outside, at('d'))
    await files.write('d/a.txt', 'written by a tool')
    await copy.bringIn()
    await copy.takeBack()
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('a secret')
    expect(readFileSync(join(outside, 'e/b.txt'), 'utf8')).toBe('a secret')
    for (const path of ['d/a.txt', 'd/e/b.txt', 'moved/a.txt'])
      expect(await files.readText(path).catch(() => ''), path).not.toContain('secret')
  })

  it('rejects a workspace, and changes, that are too large', async () => {
    const small = makeCopy({ 'a.txt': 'x'.repeat(50) }, { maxBytes: 40, maxPaths: 10 })
    await expect(small.copy.bringIn()).rejects.toMatchObject({ code: 'commands_unavailable' })
    const many = makeCopy({ a: '', b: '', c: '' }, { maxBytes: 40, maxPaths: 2 })
    await expect(many.copy.bringIn()).rejects.toMatchObject({ code: 'commands_unavailable' })
    const { copy, files, at } = makeCopy({ a: '' })
    await copy.bringIn()
    writeFileSync(at('big'), '')
    truncateSync(at('big'), 65 * 1024 * 1024)
    expect((await copy.takeBack()).join()).toContain('Not all changes of commands are in the workspace')
    await expect(copy.commit(async () => ({ written: [] }))).rejects.toMatchObject({ code: 'overlay_full' })
    rmSync(at('big'))
    expect(await copy.takeBack()).toEqual([])
    expect(await copy.commit(async () => ({ written: [] }))).toEqual({ written: [] })
    expect(await files.list('.')).toHaveLength(1)
  })

  it('keeps a file whose name has a replacement character, and reports a file whose name is not valid text', async () => {
    const { copy, files, at } = makeCopy({ 'a\ufffd.txt': 'kept' })
    await copy.bringIn()
    writeFileSync(Buffer.concat([Buffer.from(at('b')), Buffer.from([0xff])]), 'lost')
    expect((await copy.takeBack()).join()).toContain('its name is not UTF-8')
    expect(await files.readText('a\ufffd.txt')).toBe('kept')
  })

  it('copies nothing back after its end: what is removed with it is not removed from the workspace', async () => {
    const { copy, files, at } = makeCopy({ 'a.txt': 'one', 'b.txt': 'two' })
    await copy.bringIn()
    await copy.end()
    rmSync(at('a.txt'))
    writeFileSync(at('b.txt'), 'changed')
    expect(await copy.takeBack()).toEqual([])
    expect(await files.readText('a.txt')).toBe('one')
    expect(await files.readText('b.txt')).toBe('two')
    await expect(copy.bringIn()).rejects.toMatchObject({ code: 'shell_closed' })
  })

  it('copies a file that a running command changes again after a commit', async () => {
    const { copy, files, at } = makeCopy({ 'a.txt': 'one' })
    await copy.bringIn()
    writeFileSync(at('a.txt'), 'first')
    await copy.commit(async () => {
      // A commit gives the file on the disk another time.
      await files.write('a.txt', 'first')
      return { written: ['a.txt'] }
    })
    writeFileSync(at('a.txt'), 'second')
    expect(await copy.takeBack()).toEqual([])
    expect(await files.readText('a.txt')).toBe('second')
  })

  it('copies a new repository only when no command can change it after it was examined', async () => {
    const made = makeCopy({ '.git': 'gitdir: ../elsewhere' })
    const { copy, files, at } = made
    await copy.bringIn()
    for (const path of ['bare/HEAD', 'bare/config', 'sub/.git/config', 'a.txt']) {
      mkdirSync(join(at(path), '..'), { recursive: true })
      writeFileSync(at(path), 'new')
    }
    writeFileSync(at('.git'), 'gitdir: evil')
    made.isBusy = true
    const said = (await copy.takeBack()).join('\n')
    for (const path of ['bare/HEAD', 'sub/.git'])
      expect(said).toContain(`${path} was not taken into the workspace: a command still runs`)
    expect(await files.readText('a.txt')).toBe('new')
    for (const path of ['bare/HEAD', 'sub/.git'])
      expect(await files.fileSystem.lstat(`${files.root}/${path}`)).toBe(undefined)
    made.isBusy = false
    await copy.takeBack()
    expect(await files.readText('bare/HEAD')).toBe('new')
    expect(await files.readText('sub/.git/config')).toBe('new')
    expect(await files.readText('.git')).toBe('gitdir: ../elsewhere')
  })

  it('copies nothing into a directory that is something else in the workspace', async () => {
    const { copy, files, at } = makeCopy({ 'b.txt': '' })
    await copy.bringIn()
    mkdirSync(at('a'))
    writeFileSync(at('a/x.txt'), 'by a command')
    writeFileSync(at('b.txt'), 'by a command')
    await files.write('a', 'by a tool')
    expect(await copy.takeBack()).toEqual([expect.stringContaining('a was changed by a tool')])
    expect(await files.readText('b.txt')).toBe('by a command')
  })
})
