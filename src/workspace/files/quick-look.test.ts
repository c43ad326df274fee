import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { lookInside } from './quick-look.js'

let base: string
let root: string
beforeEach(async () => {
  base = temporaryDirectory()
  root = join(base, 'root')
  await mkdir(join(root, 'inner'), { recursive: true })
  await writeFile(join(root, 'a.txt'), 'inside\n')
  await writeFile(join(base, 'secret.txt'), 'outside\n')
})

describe('a synchronous read of a directory', () => {
  it('returns names and small texts at once', () => {
    const glance = lookInside(root)
    expect([...glance.names('.')].sort()).toEqual(['a.txt', 'inner/'])
    expect(glance.text('a.txt', 100)).toBe('inside\n')
    expect(glance.text('a.txt', 3)).toBeUndefined()
    expect(glance.names('none')).toEqual([])
    expect(glance.text('none', 10)).toBeUndefined()
    expect(glance.text('inner', 10)).toBeUndefined()
  })

  it('reads nothing outside, through any path', async () => {
    await symlink(base, join(root, 'up'))
    await symlink(join(base, 'secret.txt'), join(root, 'linked.txt'))
    await symlink(join(root, 'a.txt'), join(root, 'again.txt'))
    const glance = lookInside(root)
    for (const path of [
      '../secret.txt',
      'linked.txt',
      'up/secret.txt',
      '/../secret.txt',
      'inner/../../secret.txt',
    ])
      expect(glance.text(path, 100), path).toBeUndefined()
    for (const path of ['..', 'up', 'inner/../..']) expect(glance.names(path), path).toEqual([])
    expect(glance.names('.')).not.toContain('linked.txt')
    expect(glance.text('again.txt', 100)).toBeUndefined()
  })

  it('does not block on a pipe', () => {
    execFileSync('mkfifo', [join(root, 'pipe')])
    expect(lookInside(root).text('pipe', 100)).toBeUndefined()
  })
})
