import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { harmOf } from './vet-repository.js'

function newRepository(): { readonly directory: string; readonly git: string } {
  const directory = temporaryDirectory()
  execFileSync('git', ['init', '-q', directory])
  return { directory, git: join(directory, '.git') }
}

const harm = (directory: string): string | undefined =>
  harmOf({ kind: 'linked', directory, identity: '' }, () => false)

describe('harmOf', () => {
  it('finds no harm in a repository that git is still creating', () => {
    const { directory, git } = newRepository()
    for (const name of ['packed-refs.new', 'packed-refs.lock', 'config.lock', 'shallow_a1B2c3'])
      writeFileSync(join(git, name), '')
    symlinkSync('testing', join(git, 'tQ7x2Zk'))
    expect(harm(directory)).toBeUndefined()
  })

  it('finds no harm in a .git file that git has not written yet, and harm in what points elsewhere', () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '.git'), '')
    expect(harm(directory)).toBeUndefined()
    for (const text of ['gitdir: /nowhere/git\n', `gitdir: ${newRepository().git}\n`, ' ', 'gitdir']) {
      writeFileSync(join(directory, '.git'), text)
      expect(harm(directory)).toContain('not protected')
    }
  })

  it('finds harm in other names and links', () => {
    const { directory, git } = newRepository()
    writeFileSync(join(git, 'commondir'), '../evil')
    expect(harm(directory)).toContain('commondir')
    const linked = newRepository()
    symlinkSync('/elsewhere', join(linked.git, 'shallow'))
    expect(harm(linked.directory)).toContain('shallow is a link')
  })
})
