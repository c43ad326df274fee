import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { checkToolContract } from '../testing/tool-contract.js'
import { openWorkspace, type WorkspacePermit } from '../workspace/open-workspace.js'
import { writeTool } from './write.js'

describe('write', () => {
  it('satisfies the contract of a tool, with a short description', async () => {
    const problems = await checkToolContract(writeTool, {
      valid: [{ file_path: 'a', content: '' }],
      invalid: [{ file_path: 'a' }, { content: 'a' }, { file_path: 'a', content: 'b', mode: 7 }],
    })
    expect(problems).toEqual([])
    expect(JSON.stringify(writeTool.definition()).length).toBeLessThan(600)
  })

  it('creates files with their directories, replaces, confirms, and never repeats the content', async () => {
    const workspace = await toolboxWorkspace()
    const made = await workspace.call(writeTool, { file_path: 'a/b/c.txt', content: 'grüße\nsecret' })
    expect(made).toMatchObject({
      data: 'Wrote 14 bytes (2 lines) to a/b/c.txt (created)',
      metadata: { file_path: 'a/b/c.txt', created: true, bytes: 14, lines: 2 },
    })
    const again = await workspace.call(writeTool, { file_path: 'a/b/c.txt', content: '' })
    expect(again).toMatchObject({ data: 'Wrote 0 bytes (0 lines) to a/b/c.txt (replaced)' })
    expect(JSON.stringify([made, again])).not.toContain('secret')
    expect(readFileSync(join(workspace.root, 'a/b/c.txt'), 'utf8')).toBe('')
  })

  it('writes exactly the given text: line endings, byte-order mark, unusual names', async () => {
    const workspace = await toolboxWorkspace({ 'dos.txt': 'a\r\nb\r\n' })
    for (const [name, content] of [
      ['dos.txt', 'a\nb\n'],
      ['bom.txt', '\uFEFFx\r\n'],
      ['-rf', 'dash'],
      ['a "b"\nc', 'odd'],
    ] as const) {
      expect((await workspace.call(writeTool, { file_path: name, content })).type).toBe('output')
      expect(readFileSync(join(workspace.root, name), 'utf8')).toBe(content)
    }
  })

  it('SEC-027 keeps the mode of a file, without setuid, and creates new ones without execute permission', async () => {
    const workspace = await toolboxWorkspace({ 'run.sh': 'x' })
    chmodSync(join(workspace.root, 'run.sh'), 0o4755)
    await workspace.call(writeTool, { file_path: 'run.sh', content: 'y' })
    expect(statSync(join(workspace.root, 'run.sh')).mode & 0o7777).toBe(0o755)
    await workspace.call(writeTool, { file_path: 'new.sh', content: '#!/bin/sh\n' })
    expect(statSync(join(workspace.root, 'new.sh')).mode & 0o111).toBe(0)
  })

  it('SEC-007 SEC-008 SEC-018 rejects paths that lead out or are protected, and leaves no trace', async () => {
    const workspace = await toolboxWorkspace()
    const outside = join(workspace.root, '..', 'new.txt')
    symlinkSync(outside, join(workspace.root, 'link'))
    symlinkSync('..', join(workspace.root, 'up'))
    for (const path of [
      'link',
      'up/new.txt',
      '../new.txt',
      'a/../../new.txt',
      outside,
      '.git/config',
      '.capstan/x',
      'dir/',
      '',
      'a\0b',
    ]) {
      const envelope = await workspace.call(writeTool, { file_path: path, content: 'x' })
      expect(envelope.type, path).toBe('error')
    }
    expect(existsSync(outside)).toBe(false)
    expect(readdirSync(workspace.root).sort()).toEqual(['link', 'up'])
  })

  it('names what prevents a write: a directory, a file in the path, a read-only file', async () => {
    const workspace = await toolboxWorkspace({ 'file.txt': 'x', 'dir/a': '' })
    chmodSync(join(workspace.root, 'file.txt'), 0o444)
    const says = async (path: string): Promise<string> => {
      const envelope = await workspace.call(writeTool, { file_path: path, content: 'y' })
      return envelope.type === 'error' ? envelope.error_text : 'written'
    }
    expect(await says('dir')).toContain('is a directory')
    expect(await says('file.txt/x')).toMatch(/file, not a directory|as if it were a directory/)
    expect(await says('file.txt')).toContain('read-only')
    expect(readFileSync(join(workspace.root, 'file.txt'), 'utf8')).toBe('x')
  })

  it('gives a hard-linked file its own content', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'shared' })
    const other = join(workspace.root, '..', 'other.txt')
    linkSync(join(workspace.root, 'a.txt'), other)
    await workspace.call(writeTool, { file_path: 'a.txt', content: 'mine' })
    expect(readFileSync(other, 'utf8')).toBe('shared')
  })

  it('never interleaves two writers of one file', async () => {
    const workspace = await toolboxWorkspace()
    const contents = Array.from({ length: 12 }, (_, index) => `${index}`.repeat(200_000))
    const results = await Promise.all(
      contents.map((content) => workspace.call(writeTool, { file_path: 'one.txt', content })),
    )
    expect(results.every(({ type }) => type === 'output')).toBe(true)
    expect(results.filter(({ metadata }) => metadata['created'] === true)).toHaveLength(1)
    expect(contents).toContain(readFileSync(join(workspace.root, 'one.txt'), 'utf8'))
    expect(readdirSync(workspace.root)).toEqual(['one.txt'])
  })

  it.runIf(process.platform === 'linux')(
    'reports why a directory accepts no files, without naming host paths',
    async () => {
      // No user can create a file there, not even root.
      const workspace = openWorkspace({ root: '/proc/self/fdinfo', sandbox: 'off' })
      const runtime = workspace.runtimeFor(everything, new AbortController().signal)
      const envelope = await writeTool.execute({ file_path: 'new.txt', content: 'x' }, { runtime })
      expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('new.txt') })
      expect(JSON.stringify(envelope)).not.toMatch(/proc|capstan-tmp/)
      await workspace.close()
    },
  )

  it('reports that the disk is full, and leaves only the old content', async () => {
    const disk = smallDisk()
    try {
      writeFileSync(join(disk.path, 'a.txt'), 'old')
      const workspace = openWorkspace({ root: disk.path, sandbox: 'off' })
      const runtime = workspace.runtimeFor(everything, new AbortController().signal)
      const envelope = await writeTool.execute(
        { file_path: 'a.txt', content: 'x'.repeat(disk.tooMuch) },
        { runtime },
      )
      expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringMatching(disk.says) })
      expect(readdirSync(disk.path)).toEqual(['a.txt'])
      expect(readFileSync(join(disk.path, 'a.txt'), 'utf8')).toBe('old')
      await workspace.close()
    } finally {
      disk.remove()
    }
  })
})

const everything: WorkspacePermit = {
  path: () => undefined,
  host: () => undefined,
  command: () => undefined,
  grantsCommand: () => true,
}

/** A file system of 64 KB where one can be mounted; else the limit that the workspace itself holds. */
function smallDisk(): { path: string; tooMuch: number; says: RegExp; remove(): void } {
  const path = temporaryDirectory()
  const mounted = mount(path)
  return {
    path,
    tooMuch: mounted ? 300_000 : 65 * 1024 * 1024,
    says: mounted ? /disk is full.*ENOSPC/ : /too large/,
    remove() {
      if (mounted) execFileSync('umount', [path])
    },
  }
}

function mount(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
