import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMemoryFiles } from '../../../src/workspace/files/index.js'
import { codeOf, createScene, type Scene } from './fixture.js'

function withRepository(): Scene {
  const scene = createScene()
  for (const path of ['.git/hooks', '.git/info', '.git/objects', '.capstan', 'sub']) {
    mkdirSync(join(scene.workspace, path), { recursive: true })
  }
  writeFileSync(join(scene.workspace, '.git/config'), '[core]\n')
  writeFileSync(join(scene.workspace, '.capstan/settings'), 'ask\n')
  return scene
}

const gitFiles = [
  '.git/hooks/pre-commit',
  '.git/config',
  '.git/info/attributes',
  '.git/objects/aa/bb',
  '.git/HEAD',
]
const spellings = [
  '.GIT/hooks/x',
  './.git//hooks/x',
  'sub/../.git/hooks/x',
  '.Git/config',
  '.git /hooks/x',
  '.git./hooks/x',
  '.git::$INDEX_ALLOCATION/hooks/x',
  'GIT~1/hooks/x',
  '.g\u200cit/hooks/x',
  '.\uff47it/hooks/x',
  'sub/.git/hooks/x',
  'sub/.git',
]
const ownFiles = [
  '.capstan/settings',
  '.capstan/hooks/a',
  '.CapStan/x',
  '.cap\u017ftan/x',
  '.mcp.json',
  '.MCP.json',
  'sub/.mcp.json',
]

describe('protected files', () => {
  it.each([...gitFiles, ...spellings])('SEC-015 SEC-016 refuses to write %j', async (path) => {
    const scene = withRepository()
    expect(await codeOf(scene, scene.files().write(path, 'x'))).toBe('path_protected')
    expect(await codeOf(scene, createMemoryFiles().write(path, 'x'))).toBe('path_protected')
    expect(readdirSync(join(scene.workspace, 'sub'))).toEqual([])
    expect(readdirSync(join(scene.workspace, '.git/hooks'))).toEqual([])
  })

  it.each(ownFiles)(
    'SEC-018 refuses to write Capstan’s own %j, although everything is permitted',
    async (path) => {
      const scene = withRepository()
      const files = scene.files({ permit: () => undefined })
      expect(await codeOf(scene, files.write(path, 'allow everything'))).toBe('path_protected')
      expect(await codeOf(scene, createMemoryFiles().write(path, 'x'))).toBe('path_protected')
      await files.write('evil', 'x')
      expect(await codeOf(scene, files.move('evil', path))).toBe('path_protected')
      expect(readFileSync(join(scene.workspace, '.capstan/settings'), 'utf8')).toBe('ask\n')
    },
  )

  it('SEC-019 a protected file that does not exist yet cannot be created', async () => {
    const scene = createScene()
    for (const path of [...gitFiles, ...ownFiles, '.git', '.capstan']) {
      expect(await codeOf(scene, scene.files().write(path, 'x')), path).toBe('path_protected')
    }
    expect(readdirSync(scene.workspace)).toEqual([])
  })

  it('SEC-020 protected parents are neither moved nor removed nor replaced', async () => {
    const scene = withRepository()
    const files = scene.files()
    mkdirSync(join(scene.workspace, 'prepared/hooks'), { recursive: true })
    mkdirSync(join(scene.workspace, 'nested/repo/.git/hooks'), { recursive: true })
    for (const name of ['.git', '.capstan', '.git/hooks', '.GIT']) {
      expect(await codeOf(scene, files.move(name, 'x')), name).toBe('path_protected')
      expect(await codeOf(scene, files.remove(name)), name).toBe('path_protected')
      expect(await codeOf(scene, files.move('prepared', name)), name).toBe('path_protected')
    }
    expect(await codeOf(scene, files.move('nested', 'x'))).toBe('path_protected')
    expect(existsSync(join(scene.workspace, '.git/hooks'))).toBe(true)
    expect(existsSync(join(scene.workspace, 'nested/repo/.git/hooks'))).toBe(true)
  })

  it('SEC-016 links to protected files do not open them', async () => {
    const scene = withRepository()
    const files = scene.files()
    symlinkSync('.git/config', join(scene.workspace, 'file-link'))
    symlinkSync('.git/hooks', join(scene.workspace, 'dir-link'))
    symlinkSync('.', join(scene.workspace, 'sub/up'))
    symlinkSync('../.git', join(scene.workspace, 'sub/g'))
    for (const path of [
      'file-link',
      'dir-link/pre-commit',
      'dir-link/new/x',
      'sub/g/config',
      'sub/g/hooks/x',
    ]) {
      expect(await codeOf(scene, files.write(path, 'x')), path).toBe('path_protected')
    }
    expect(await files.readText('file-link')).toBe('[core]\n')
    expect(readFileSync(join(scene.workspace, '.git/config'), 'utf8')).toBe('[core]\n')
  })

  it.each(['link', 'file'])(
    'SEC-016 a git directory elsewhere in the workspace is protected too (.git is a %s)',
    async (kind) => {
      const scene = createScene()
      mkdirSync(join(scene.workspace, 'gitdata/hooks'), { recursive: true })
      if (kind === 'link') symlinkSync('gitdata', join(scene.workspace, '.git'))
      else writeFileSync(join(scene.workspace, '.git'), 'gitdir: gitdata\n')
      expect(await codeOf(scene, scene.files().write('gitdata/hooks/pre-commit', 'x'))).toBe('path_protected')
      expect(await codeOf(scene, scene.files().move('gitdata', 'x'))).toBe('path_protected')
      expect(await codeOf(scene, scene.files().write('gitdata-2/x', 'x'))).toBe('done')
    },
  )

  it('does not protect names that only look alike', async () => {
    const scene = createScene()
    for (const path of [
      '.gitignore',
      '.gitattributes',
      '.github/a.yml',
      'git',
      'capstan/x',
      'mcp.json',
      '.mcp.json5',
    ]) {
      expect(await codeOf(scene, scene.files().write(path, 'x')), path).toBe('done')
    }
  })
})
