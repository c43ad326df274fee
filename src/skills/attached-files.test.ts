import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { attachedFiles } from './attached-files.js'

function folderWith(...files: readonly string[]): string {
  const folder = temporaryDirectory()
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), 'x')
  }
  return folder
}

describe('attachedFiles', () => {
  it('lists the files of a skill by their path, without its text', () => {
    expect(attachedFiles(folderWith('SKILL.md', 'b.txt', 'scripts/run.sh', 'a.txt'))).toEqual([
      'a.txt',
      'b.txt',
      'scripts/run.sh',
    ])
  })

  it('omits repositories, dependencies and links', () => {
    const folder = folderWith('a.txt', '.git/config', 'node_modules/x/index.js')
    symlinkSync('/etc/hostname', join(folder, 'link'))
    symlinkSync('/etc', join(folder, 'directory'))
    expect(attachedFiles(folder)).toEqual(['a.txt'])
  })

  it('reads four folders deep, and 200 files', () => {
    expect(attachedFiles(folderWith('1/2/3/4/in.txt', '1/2/3/4/5/out.txt'))).toEqual(['1/2/3/4/in.txt'])
    const many = Array.from({ length: 210 }, (_, n) => `f${n}.txt`)
    expect(attachedFiles(folderWith(...many))).toHaveLength(200)
  })
})
