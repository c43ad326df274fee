import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createLocalFiles } from '../files/local-files.js'
import { directoryName, isGone, type Owner, ownerOf, thisProcess } from './owner.js'
import { removeTree } from './remove-tree.js'
import { createScratch } from './scratch.js'
import { sweepScratch } from './sweep.js'

let top = ''
let base = ''
const secret = (digit: string): string => digit.repeat(32)

beforeEach(() => {
  top = temporaryDirectory()
  base = join(top, 'base')
})

describe('scratch', () => {
  it('creates nothing before the first write, and leaves nothing when closed', async () => {
    const scratch = createScratch({ baseDir: base })
    expect(scratch.path).toBeUndefined()
    expect(existsSync(base)).toBe(false)
    const path = await scratch.write('shell output', 'text')
    expect(scratch.path).toBe(dirname(path))
    expect(readFileSync(path, 'utf8')).toBe('text')
    await scratch.close()
    expect(readdirSync(base)).toEqual([])
    expect(scratch.path).toBeUndefined()
    await scratch.close()
    await expect(scratch.write('x', '')).rejects.toMatchObject({ code: 'scratch_closed' })
    await createScratch({ baseDir: base }).close()
  })

  it('is one directory for a session, also when it is first used concurrently', async () => {
    const scratch = createScratch({ baseDir: base })
    const paths = await Promise.all(Array.from({ length: 20 }, (_, i) => scratch.write('same', `${i}`)))
    expect(new Set(paths).size).toBe(20)
    expect(new Set(paths.map((path) => dirname(path))).size).toBe(1)
    expect(readdirSync(base)).toHaveLength(1)
    await scratch.close()
  })

  it('names files by their label, without unsafe characters', async () => {
    const scratch = createScratch({ baseDir: base })
    for (const label of ['../../etc/passwd', '', '\0', '-rf', 'a b/ü', 'x'.repeat(500)]) {
      const path = await scratch.write(label, 'x')
      expect(dirname(path)).toBe(scratch.path)
      expect(basename(path)).toMatch(/^[A-Za-z0-9_]?[A-Za-z0-9_-]{0,40}-[0-9a-f]{32}\.txt$/)
    }
    await scratch.close()
  })

  it('is readable through the files of its session', async () => {
    const workspace = join(top, 'w')
    mkdirSync(workspace)
    const scratch = createScratch({ baseDir: base })
    const files = createLocalFiles({ root: workspace, scratch })
    const path = await scratch.write('big', 'content')
    expect(await files.readText(path)).toBe('content')
    const other = createScratch({ baseDir: base })
    await expect(files.read(await other.write('x', 'theirs'))).rejects.toMatchObject({ code: 'path_outside' })
    await Promise.all([scratch.close(), other.close()])
    await expect(files.read(path)).rejects.toMatchObject({ code: 'path_outside' })
  })

  it('writes no more than its limit, also concurrently', async () => {
    const scratch = createScratch({ baseDir: base, maxBytes: 100 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => scratch.write('x', 'y'.repeat(30))),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(3)
    await expect(scratch.write('x', 'y'.repeat(30))).rejects.toMatchObject({ code: 'scratch_full' })
    await scratch.close()
  })

  it('removes everything in any state, and follows no link', async () => {
    const keep = join(top, 'keep')
    mkdirSync(keep)
    writeFileSync(join(keep, 'f'), 'kept')
    const scratch = createScratch({ baseDir: base })
    const directory = await scratch.dir()
    symlinkSync(keep, join(directory, 'link'))
    let deep = directory
    for (let i = 0; i < 300; i++) {
      deep = join(deep, 'd')
      mkdirSync(deep)
      if (i % 50 === 0) symlinkSync(keep, join(deep, 'l'))
    }
    mkdirSync(join(directory, 'closed/inner'), { recursive: true })
    writeFileSync(join(directory, 'closed/inner/f'), '')
    chmodSync(join(directory, 'closed/inner'), 0o000)
    chmodSync(join(directory, 'closed'), 0o500)
    chmodSync(directory, 0o000)
    execFileSync('mkfifo', [join(top, 'pipe')])
    await scratch.close()
    expect(readdirSync(base)).toEqual([])
    expect(readFileSync(join(keep, 'f'), 'utf8')).toBe('kept')
  })

  it.each(['link', 'directory', 'file'])(
    'does not change what is not its own: a %s in its place',
    async (kind) => {
      const keep = join(top, 'keep')
      mkdirSync(keep)
      writeFileSync(join(keep, 'f'), 'kept')
      const scratch = createScratch({ baseDir: base })
      const directory = await scratch.dir()
      renameSync(directory, join(top, 'moved'))
      if (kind === 'link') symlinkSync(keep, directory)
      else if (kind === 'file') writeFileSync(directory, 'f')
      else mkdirSync(join(directory, 'theirs'), { recursive: true })
      await expect(scratch.close()).rejects.toMatchObject({ code: 'scratch_foreign' })
      expect(existsSync(directory)).toBe(true)
      expect(readFileSync(join(keep, 'f'), 'utf8')).toBe('kept')
    },
  )

  it('treats a removed directory as closed', async () => {
    const scratch = createScratch({ baseDir: base })
    rmSync(await scratch.dir(), { recursive: true })
    await scratch.close()
  })

  it('rejects a base directory that other users can change', async () => {
    mkdirSync(base)
    chmodSync(base, 0o777)
    await expect(createScratch({ baseDir: base }).dir()).rejects.toMatchObject({ code: 'scratch_unsafe' })
    chmodSync(base, 0o1777)
    const shared = createScratch({ baseDir: base })
    expect(statSync(await shared.dir()).mode & 0o7777).toBe(0o700)
    await shared.close()
    symlinkSync(base, join(top, 'link'))
    await expect(createScratch({ baseDir: join(top, 'link') }).dir()).rejects.toMatchObject({
      code: 'scratch_unsafe',
    })
  })

  it('tries again after a failed start', async () => {
    writeFileSync(base, 'in the way')
    const scratch = createScratch({ baseDir: base })
    await expect(scratch.dir()).rejects.toThrow()
    rmSync(base)
    expect(lstatSync(await scratch.dir()).isDirectory()).toBe(true)
    await scratch.close()
  })
})

describe('the directories of dead processes', () => {
  const self = thisProcess()

  async function deadProcess(): Promise<Owner> {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    return { ...self, pid: child.pid ?? 0, started: '1' }
  }

  it('are removed at the next start without following links; those of live or other processes stay', async () => {
    mkdirSync(base)
    const keep = join(top, 'keep')
    mkdirSync(keep)
    writeFileSync(join(keep, 'f'), '')
    const dead = await deadProcess()
    const gone = [
      directoryName(dead, secret('1')),
      // The id lives again, in another process.
      directoryName({ ...self, started: '1' }, secret('2')),
      directoryName({ ...self, boot: '00000000' }, secret('3')),
    ]
    const stays = [
      directoryName(self, secret('4')),
      directoryName({ ...dead, host: '00000000' }, secret('5')),
      directoryName({ ...dead, namespace: '1' }, secret('6')),
      'of-another-user',
      's-1',
    ]
    for (const name of [...gone, ...stays]) {
      mkdirSync(join(base, name))
      symlinkSync(keep, join(base, name, 'link'))
    }
    symlinkSync(keep, join(base, directoryName(dead, secret('7'))))
    const scratch = createScratch({ baseDir: base })
    const own = basename(await scratch.dir())
    expect(readdirSync(base).sort()).toEqual([...stays, directoryName(dead, secret('7')), own].sort())
    expect(readdirSync(keep)).toEqual(['f'])
    await scratch.close()
  })

  it('are removed once when many sweep at the same time', async () => {
    mkdirSync(base)
    const dead = await deadProcess()
    for (const digit of '123456789') {
      mkdirSync(join(base, directoryName(dead, secret(digit)), 'a/b/c'), { recursive: true })
    }
    const reports = await Promise.all([sweepScratch(base), sweepScratch(base), sweepScratch(base)])
    expect(readdirSync(base)).toEqual([])
    expect(reports.length).toBe(3)
  })

  it('are recognised by the owner in their name, and other names are ignored', () => {
    expect(ownerOf(directoryName(self, secret('a')))).toEqual(self)
    for (const name of [
      '',
      's-',
      'x',
      directoryName(self, 'short'),
      `${directoryName(self, secret('a'))}x`,
    ]) {
      expect(ownerOf(name)).toBeUndefined()
    }
    expect(isGone(self, self)).toBe(false)
    expect(isGone({ ...self, started: 'x' }, self)).toBe(false)
  })
})

it('removeTree needs no more handles for a deep tree than for a flat one', async () => {
  mkdirSync(base)
  // Deeper than a path can be long, so it is made from inside.
  const make =
    "const fs = require('fs'); for (let i = 0; i < 600; i++) { fs.mkdirSync('dddddddddd'); process.chdir('dddddddddd') }"
  mkdirSync(join(base, 't'))
  execFileSync(process.execPath, ['-e', make], { cwd: join(base, 't') })
  expect(await removeTree(base, 't')).toBe(true)
  expect(readdirSync(base)).toEqual([])
})
