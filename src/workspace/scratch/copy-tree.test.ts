import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createScratch } from './scratch.js'

let base: string

beforeEach(async () => {
  base = temporaryDirectory()
})

async function files(from: string, contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(contents)) {
    await mkdir(dirname(join(base, from, path)), { recursive: true })
    await writeFile(join(base, from, path), text)
  }
}

describe('a copy of a directory in the scratch directory', () => {
  it('has its regular files, readable and executable but not writable, and is removed with the session', async () => {
    await files('from', {
      'a.md': 'a',
      'scripts/go.sh': 'echo',
      '.git/config': 'x',
      'node_modules/x/y.js': 'z',
    })
    await chmod(join(base, 'from/scripts/go.sh'), 0o755)
    const scratch = createScratch({ baseDir: join(base, 'scratch') })
    const { path, files: copied, notes } = await scratch.copy('my skill/../x', join(base, 'from'))
    expect(copied).toEqual(['a.md', 'scripts/go.sh'])
    expect(notes).toEqual([])
    expect(dirname(path)).toBe(scratch.path)
    expect(await readFile(join(path, 'a.md'), 'utf8')).toBe('a')
    expect((await lstat(join(path, 'a.md'))).mode & 0o777).toBe(0o400)
    expect((await lstat(join(path, 'scripts/go.sh'))).mode & 0o777).toBe(0o500)
    await scratch.close()
    await expect(lstat(path)).rejects.toThrow('ENOENT')
  })

  it('omits links wherever they lead, and files that are not regular', async () => {
    await files('.', { 'secret.txt': 'secret', 'from/a.md': 'a' })
    await symlink(join(base, 'secret.txt'), join(base, 'from/link'))
    await symlink(base, join(base, 'from/up'))
    await symlink('a.md', join(base, 'from/inside'))
    execFileSync('mkfifo', [join(base, 'from/pipe')])
    const scratch = createScratch({ baseDir: join(base, 'scratch') })
    const { files: copied, notes } = await scratch.copy('x', join(base, 'from'))
    expect(copied).toEqual(['a.md'])
    expect(notes.toSorted()).toEqual([
      'inside was left out: it is a link.',
      'link was left out: it is a link.',
      expect.stringContaining('pipe was left out'),
      'up was left out: it is a link.',
    ])
    await scratch.close()
  })

  it('is limited, including what is already in the directory', async () => {
    await files('from', { 'a.md': 'a', 'b.md': 'b' })
    await truncate(join(base, 'from/a.md'), 2 ** 40)
    const scratch = createScratch({ baseDir: join(base, 'scratch'), maxBytes: 100 })
    const { files: copied, notes } = await scratch.copy('x', join(base, 'from'))
    expect(copied).toEqual(['b.md'])
    expect(notes).toEqual([
      expect.stringContaining('a.md was left out: all files together would be larger than 100 bytes'),
    ])
    await scratch.write('note', 'x'.repeat(99))
    await expect(scratch.write('note', 'x')).rejects.toThrow('full')
    await scratch.close()
  })
})
