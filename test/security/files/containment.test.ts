import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeOf, createScene } from './fixture.js'

/** Both ways of closing the gap must refuse the same things. */
describe.each(['handle', 'compare'] as const)('containment by %s', (wanted) => {
  const method = process.platform === 'linux' ? wanted : 'compare'

  it('SEC-001 refuses to read ../C', async () => {
    const scene = createScene()
    expect(await codeOf(scene, scene.files({ method }).read('../C'))).toBe('path_outside')
  })

  it('SEC-002 refuses to read an absolute path outside', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    await expect(files.read(scene.canary)).rejects.toMatchObject({ code: 'path_outside' })
    await expect(files.write(scene.canary, '')).rejects.toMatchObject({ code: 'path_outside' })
  })

  it('SEC-004 refuses to read W/../W-evil/x, in every spelling', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    for (const path of ['../W-evil/x', `${scene.workspace}/../W-evil/x`, `${scene.workspace}-evil/x`]) {
      expect(await codeOf(scene, files.read(path)), path).toBe('path_outside')
      expect(await codeOf(scene, files.write(path, '')), path).toBe('path_outside')
    }
  })

  it('SEC-005 refuses a link to a file outside', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    symlinkSync(scene.canary, join(scene.workspace, 'link'))
    symlinkSync('link', join(scene.workspace, 'link-to-link'))
    for (const name of ['link', 'link-to-link']) {
      expect(await codeOf(scene, files.read(name))).toBe('path_outside')
      expect(await codeOf(scene, files.readRange(name, 0, 9))).toBe('path_outside')
      expect(await codeOf(scene, files.stat(name))).toBe('path_outside')
      expect(await codeOf(scene, files.write(name, 'x'))).toBe('path_outside')
      expect(await codeOf(scene, files.resolve(name))).toBe('path_outside')
    }
    expect((await files.list('.')).map((entry) => entry.kind)).toEqual(['symlink', 'symlink'])
    // Moving or removing a link concerns the link alone.
    await files.move('link', 'moved')
    await files.remove('moved')
  })

  it('SEC-006 refuses a directory link to outside', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    symlinkSync(scene.outside, join(scene.workspace, 'd'))
    expect(await codeOf(scene, files.read('d/C'))).toBe('path_outside')
    expect(await codeOf(scene, files.write('d/new', 'x'))).toBe('path_outside')
    expect(await codeOf(scene, files.write('d/deep/er/new', 'x'))).toBe('path_outside')
    expect(await codeOf(scene, files.list('d'))).toBe('path_outside')
    expect(await codeOf(scene, files.remove('d/C'))).toBe('path_outside')
    expect(await codeOf(scene, files.move('d/C', 'stolen'))).toBe('path_outside')
    await files.write('mine', 'm')
    expect(await codeOf(scene, files.move('mine', 'd/mine'))).toBe('path_outside')
    // What exists outside and what does not must look the same from here.
    for (const path of ['d/C', 'd/none', 'd/none/deeper', 'd/C/deeper']) {
      expect(await codeOf(scene, files.read(path)), path).toBe('path_outside')
    }
  })

  it('SEC-007 a dangling link to outside creates nothing', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    symlinkSync(join(scene.outside, 'new.txt'), join(scene.workspace, 'link'))
    expect(await codeOf(scene, files.write('link', 'x'))).toBe('path_outside')
    expect(await codeOf(scene, files.write('link/new.txt', 'x'))).toBe('path_outside')
    expect(await codeOf(scene, files.read('link'))).toBe('path_outside')
  })

  it('SEC-008 refuses .. hidden after a component that does not exist', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    expect(await codeOf(scene, files.write('a/../../x', ''))).toBe('path_outside')
    expect(await codeOf(scene, files.write('a/b/../../../W-evil/x', ''))).toBe('path_outside')
    expect(readdirSync(scene.workspace)).toEqual([])
    // The dots go by the text, so a link before them cannot turn them another way.
    symlinkSync(scene.outside, join(scene.workspace, 'out'))
    await files.write('out/../inside', 'in')
    expect(readFileSync(join(scene.workspace, 'inside'), 'utf8')).toBe('in')
  })

  it('SEC-009 a chain of 41 links and a loop end in an error', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    writeFileSync(join(scene.workspace, 'l0'), 'end')
    for (let i = 1; i <= 41; i++) symlinkSync(`l${i - 1}`, join(scene.workspace, `l${i}`))
    symlinkSync('loop', join(scene.workspace, 'loop'))
    expect(await files.readText('l20')).toBe('end')
    for (const path of ['l41', 'loop', 'loop/x']) {
      expect(await codeOf(scene, files.read(path)), path).toBe('path_link_loop')
      expect(await codeOf(scene, files.write(path, '')), path).toBe('path_link_loop')
    }
  })

  it('SEC-012 a NUL byte is an error of validation', async () => {
    const scene = createScene()
    expect(await codeOf(scene, scene.files({ method }).read('a\u0000.txt'))).toBe('path_invalid')
  })

  it('SEC-013 5,000 characters, and a component of 300, end in an error', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    const long = Array.from({ length: 1250 }, () => 'abc').join('/')
    for (const path of [long, 'x'.repeat(300), 'ü'.repeat(128), `a/${'y'.repeat(256)}/b`]) {
      expect(await codeOf(scene, files.read(path))).toBe('path_invalid')
      expect(await codeOf(scene, files.write(path, ''))).toBe('path_invalid')
    }
  })

  it('SEC-014 refuses files of the kernel and devices', async () => {
    const scene = createScene()
    const wide = scene.files({ method, root: '/' })
    for (const path of [
      '/proc/self/environ',
      '/proc/1/root/etc/passwd',
      '/dev/stdin',
      '/dev/zero',
      '/sys/kernel',
    ]) {
      expect(await codeOf(scene, scene.files({ method }).read(path)), path).toBe('path_outside')
      expect(await codeOf(scene, wide.read(path)), path).toBe('path_outside')
    }
    symlinkSync('/proc/self/environ', join(scene.workspace, 'env'))
    symlinkSync('/proc/self/root', join(scene.workspace, 'root'))
    symlinkSync('/dev/zero', join(scene.workspace, 'zero'))
    for (const path of ['env', 'root/etc/hostname', 'zero']) {
      expect(await codeOf(scene, scene.files({ method }).read(path)), path).toBe('path_outside')
    }
  })

  it('SEC-014 a pipe and a socket end in an error, without hanging', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    execFileSync('mkfifo', [join(scene.workspace, 'pipe')])
    const server = createServer().listen(join(scene.workspace, 'sock'))
    await new Promise((resolve) => server.once('listening', resolve))
    try {
      for (const name of ['pipe', 'sock']) {
        expect(await codeOf(scene, files.read(name))).toBe('file_kind')
        expect(await codeOf(scene, files.readRange(name, 0, 1))).toBe('file_kind')
        expect(await codeOf(scene, files.write(name, 'x'))).toBe('file_kind')
        expect(await codeOf(scene, files.write(name, 'x', { ifVersion: 'v' }))).toBe('file_kind')
        expect((await files.stat(name)).kind).toBe('other')
      }
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('follows links that stay inside', async () => {
    const scene = createScene()
    const files = scene.files({ method })
    mkdirSync(join(scene.workspace, 'real'))
    writeFileSync(join(scene.workspace, 'real', 'f'), 'one')
    symlinkSync('real', join(scene.workspace, 'dir'))
    symlinkSync(join(scene.workspace, 'real', 'f'), join(scene.workspace, 'file'))
    symlinkSync('.', join(scene.workspace, 'self'))
    expect(await files.readText('dir/f')).toBe('one')
    expect(await files.readText('self/self/file')).toBe('one')
    expect((await files.write('file', 'two')).path).toBe('real/f')
    expect(readFileSync(join(scene.workspace, 'real', 'f'), 'utf8')).toBe('two')
    expect((await files.list('.')).find((entry) => entry.name === 'file')?.kind).toBe('symlink')
    expect((await files.list('self')).length).toBe(4)
    expect(await files.resolve('dir/new/x')).toBe(join(scene.workspace, 'real/new/x'))
  })

  it('applies rules to the target of a link', async () => {
    const scene = createScene()
    const files = scene.files({
      method,
      permit: (_kind, path) => (path.endsWith('/.env') ? 'secret.' : undefined),
    })
    writeFileSync(join(scene.workspace, '.env'), 'KEY=1')
    symlinkSync('.env', join(scene.workspace, 'harmless'))
    expect(await codeOf(scene, files.read('harmless'))).toBe('path_not_permitted')
    expect(await codeOf(scene, files.write('harmless', ''))).toBe('path_not_permitted')
  })
})
