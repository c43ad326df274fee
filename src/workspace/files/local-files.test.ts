import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { FileSystemError } from './errors.js'
import { lockedKeys } from './keyed-lock.js'
import { createLocalFiles } from './local-files.js'

let top = ''
let root = ''
const at = (...names: string[]): string => join(root, ...names)
/** Temporary files left anywhere. A walk of its own: Node's recursive listing follows links. */
const leftovers = (directory = root): string[] =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return leftovers(join(directory, entry.name))
    return entry.name.includes('capstan-tmp') ? [entry.name] : []
  })

beforeEach(() => {
  top = temporaryDirectory()
  root = join(top, 'w')
  mkdirSync(root)
  // What links to outside lead to: were containment broken, nothing of the machine itself would be harmed.
  mkdirSync(join(top, 'outside'))
  writeFileSync(join(top, 'outside', 'passwd'), 'theirs')
})
afterEach(() => {
  expect(leftovers()).toEqual([])
  expect(lockedKeys()).toBe(0)
})

describe('local files', () => {
  it('reports how the gap between check and use is closed', () => {
    expect(createLocalFiles({ root }).method).toBe(process.platform === 'linux' ? 'handle' : 'compare')
  })

  it('accepts a root that is named through a link, and returns the real one', async () => {
    mkdirSync(at('real'))
    symlinkSync('real', at('link'))
    const files = createLocalFiles({ root: at('link') })
    expect(files.root).toBe(at('real'))
    await files.write(at('link', 'a'), '1')
    expect(await files.readText(at('real', 'a'))).toBe('1')
  })

  it('resolves links of a recently used directory like those of any other', async () => {
    const files = createLocalFiles({ root })
    mkdirSync(at('d'))
    writeFileSync(at('d', 'a'), '1')
    writeFileSync(at('d', 'b'), '2')
    symlinkSync('b', at('d', 'inside'))
    symlinkSync(join(top, 'outside', 'passwd'), at('d', 'outside'))
    expect(await files.readText('d/a')).toBe('1')
    expect(await files.resolve('d/inside')).toBe(at('d', 'b'))
    await expect(files.resolve('d/outside')).rejects.toMatchObject({ code: 'path_outside' })
    expect(await files.resolve('d/missing')).toBe(at('d', 'missing'))
    // What takes the place of a file after it was used counts, not what was there.
    rmSync(at('d', 'a'))
    symlinkSync('b', at('d', 'a'))
    expect(await files.resolve('d/a')).toBe(at('d', 'b'))
  })

  it('rejects a root that is not a directory', () => {
    writeFileSync(at('f'), '')
    expect(() => createLocalFiles({ root: at('f') })).toThrow('is not a directory')
  })

  it('is durable by default and keeps the mode of a replaced file', async () => {
    const files = createLocalFiles({ root })
    writeFileSync(at('run.sh'), 'old')
    chmodSync(at('run.sh'), 0o750)
    await files.write('run.sh', 'new')
    expect(statSync(at('run.sh')).mode & 0o7777).toBe(0o750)
    expect((await files.stat('run.sh')).mode).toBe(0o750)
  })

  it('does not overwrite a read-only file, also as root', async () => {
    const files = createLocalFiles({ root, durable: false })
    writeFileSync(at('locked'), 'old')
    chmodSync(at('locked'), 0o444)
    await expect(files.write('locked', 'new')).rejects.toMatchObject({ code: 'file_read_only' })
    expect(readFileSync(at('locked'), 'utf8')).toBe('old')
  })

  it('gives a second hard link its own content and does not change the first', async () => {
    const files = createLocalFiles({ root, durable: false })
    writeFileSync(at('a'), 'shared')
    linkSync(at('a'), at('b'))
    await files.write('b', 'mine')
    expect(readFileSync(at('a'), 'utf8')).toBe('shared')
  })

  it('serialises writes through a link with writes to its target', async () => {
    const files = createLocalFiles({ root, durable: false })
    const other = createLocalFiles({ root: at('.'), durable: false })
    mkdirSync(at('d'))
    symlinkSync('d', at('l'))
    const { version } = await files.write('d/f', 'start')
    symlinkSync('d/f', at('direct'))
    const writes = ['d/f', 'l/f', 'direct', 'd/../l/f'].flatMap((path) => [
      files.write(path, path, { ifVersion: version }),
      other.write(path, path, { ifVersion: version }),
    ])
    const outcomes = await Promise.allSettled(writes)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
  })

  it('shows readers the old content or the new, never a part', async () => {
    const files = createLocalFiles({ root, durable: false })
    const size = 300_000
    await files.write('f', 'a'.repeat(size))
    let writing = true
    const writer = (async () => {
      for (let i = 0; i < 40; i++) await files.write('f', (i % 2 === 0 ? 'b' : 'a').repeat(size))
      writing = false
    })()
    while (writing) {
      const text = readFileSync(at('f'), 'utf8')
      expect(text.length).toBe(size)
      expect(new Set([text.slice(0, 1), text.slice(-1)]).size).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writer
  })

  it('detects that the file was changed by another process after it was read', async () => {
    const files = createLocalFiles({ root, durable: false })
    writeFileSync(at('f'), 'one')
    const { version } = await files.read('f')
    writeFileSync(at('f'), 'two')
    await expect(files.write('f', 'three', { ifVersion: version })).rejects.toMatchObject({
      code: 'file_changed',
    })
    rmSync(at('f'))
    await expect(files.write('f', 'three', { ifVersion: version })).rejects.toThrow(
      'was removed since it was read',
    )
  })

  it('returns the version of exactly the bytes that it returned, while the file grows', async () => {
    const files = createLocalFiles({ root, durable: false })
    writeFileSync(at('log'), 'x'.repeat(2_000_000))
    for (let i = 0; i < 10; i++) {
      const [content] = await Promise.all([files.read('log'), grow(at('log'))])
      const { version } = await files.write('copy', content.bytes)
      expect(content.version).toBe(version)
      expect(content.size).toBe(content.bytes.length)
    }
    const limit = statSync(at('log')).size
    const [outcome] = await Promise.allSettled([files.read('log', { maxBytes: limit }), grow(at('log'))])
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'file_too_large' })
    else expect(outcome.value.size).toBeLessThanOrEqual(limit)
  })

  it('cancels before the effect or not at all, at every step', async () => {
    const files = createLocalFiles({ root, durable: false })
    await files.write('f', 'old')
    const outcomes = new Set<string>()
    for (let steps = 0; steps < 12; steps++) {
      await files.write('f', 'old')
      const outcome = await files
        .forCall({ signal: abortedAfter(steps) })
        .write('f', 'n'.repeat(3_000_000))
        .then(
          () => 'done',
          (thrown) => thrown.code,
        )
      outcomes.add(outcome)
      expect(readFileSync(at('f'), 'utf8').slice(0, 3)).toBe(outcome === 'done' ? 'nnn' : 'old')
      expect(leftovers()).toEqual([])
    }
    expect([...outcomes].sort()).toEqual(['done', 'file_aborted'])
  })

  it('narrows the permissions of one call and never widens them', async () => {
    const files = createLocalFiles({
      root,
      durable: false,
      permit: (_kind, path) => (path.endsWith('/closed') ? 'closed.' : undefined),
    })
    const reading = files.forCall({ permit: (kind) => (kind === 'write' ? 'only for reading.' : undefined) })
    await files.write('a', '1')
    await expect(reading.write('a', '2')).rejects.toThrow('only for reading.')
    await expect(reading.forCall({ permit: () => undefined }).write('a', '2')).rejects.toThrow(
      'only for reading.',
    )
    await expect(reading.read('closed')).rejects.toThrow('closed.')
    expect(await reading.readText('a')).toBe('1')
  })

  it('accepts further roots and scratch by absolute paths, and moves files between them', async () => {
    const [more, scratch] = [
      at('more'),
      existsSync('/dev/shm') ? temporaryDirectory('/dev/shm') : at('scratch'),
    ]
    mkdirSync(at('w'))
    mkdirSync(more)
    mkdirSync(scratch, { recursive: true })
    const lazy: { path: string | undefined } = { path: undefined }
    const files = createLocalFiles({ root: at('w'), roots: [more], scratch: lazy, durable: false })
    await expect(files.write(join(scratch, 'x'), '')).rejects.toMatchObject({ code: 'path_outside' })
    lazy.path = realpathSync(scratch)
    expect((await files.write(join(scratch, 'x'), 'big')).path).toBe(join(lazy.path, 'x'))
    await expect(files.write(join(scratch, '.git/hooks/x'), '')).rejects.toMatchObject({
      code: 'path_protected',
    })
    await files.write(join(more, 'y'), 'other')
    // Scratch may be on another file system: then the bytes are carried over.
    chmodSync(join(scratch, 'x'), 0o640)
    await files.move(join(scratch, 'x'), 'kept/x')
    expect(readFileSync(at('w', 'kept', 'x'), 'utf8')).toBe('big')
    expect(statSync(at('w', 'kept', 'x')).mode & 0o777).toBe(0o640)
    expect(readdirSync(scratch)).toEqual([])
    await expect(files.remove(more)).rejects.toMatchObject({ code: 'path_protected' })
  })

  it('works in deep trees, up to the maximum path length', async () => {
    const files = createLocalFiles({ root, durable: false })
    const names = Array.from({ length: Math.floor((4000 - root.length) / 51) }, (_, i) =>
      `${i}`.padEnd(50, 'd'),
    )
    const path = `${names.join('/')}/f`
    await files.write(path, 'deep')
    expect(await files.readText(path)).toBe('deep')
    expect(await files.list(names.join('/'))).toEqual([{ name: 'f', kind: 'file', size: 4 }])
  })

  it('leaks no handle after any error', async () => {
    if (process.platform !== 'linux') return
    const files = createLocalFiles({ root, durable: false })
    writeFileSync(at('f'), '')
    symlinkSync(join(top, 'outside'), at('out'))
    symlinkSync('loop', at('loop'))
    const failing = (): Promise<unknown>[] => [
      files.read('none'),
      files.read('f/x'),
      files.read('out/passwd'),
      files.write('out/x', ''),
      files.read('loop'),
      files.write('f/y/z', ''),
      files.list('f'),
      files.move('none', 'x/y'),
      files.move('f', 'out/f'),
      files.remove('out/passwd'),
      files.write('f', '', { ifVersion: 'no' }),
      files.read('f', { maxBytes: -1 }),
      files.write('.', ''),
      files.remove('.'),
    ]
    await Promise.allSettled(failing())
    const before = readdirSync('/proc/self/fd').length
    for (let i = 0; i < 20; i++) {
      for (const outcome of await Promise.allSettled(failing())) expect(outcome.status).toBe('rejected')
    }
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 2)
  })

  it('keeps the old file when the disk is full, and writes again once there is space', async ({ skip }) => {
    const disk = at('disk')
    mkdirSync(disk)
    const refused = mountSmall(disk)
    skip(refused !== undefined, `this machine does not let the test mount a small disk: ${refused}`)
    try {
      const files = createLocalFiles({ root: disk })
      await files.write('f', 'old')
      writeFileSync(join(disk, 'filler'), Buffer.alloc(700_000))
      const failure = await files.write('f', Buffer.alloc(600_000, 'n')).catch((thrown: unknown) => thrown)
      expect(failure).toBeInstanceOf(FileSystemError)
      expect(failure).toMatchObject({
        errno: 'ENOSPC',
        message: expect.stringContaining('"f": the disk is full'),
      })
      expect(readFileSync(join(disk, 'f'), 'utf8')).toBe('old')
      expect(leftovers(disk)).toEqual([])
      rmSync(join(disk, 'filler'))
      await files.write('f', Buffer.alloc(600_000, 'n'))
      // The same file again does not fit next to itself; it must fail, not be cut.
      await expect(files.write('f', Buffer.alloc(600_000, 'm'))).rejects.toMatchObject({ errno: 'ENOSPC' })
      expect(readFileSync(join(disk, 'f'))[0]).toBe('n'.charCodeAt(0))
      execFileSync('mount', ['-o', 'remount,ro', disk])
      await expect(files.write('f', '')).rejects.toMatchObject({ errno: 'EROFS' })
      await expect(files.remove('f')).rejects.toMatchObject({ errno: 'EROFS' })
    } finally {
      execFileSync('umount', [disk])
    }
  })

  it('names the path as the caller wrote it and nothing outside the workspace', async () => {
    const files = createLocalFiles({ root, durable: false })
    symlinkSync(join(top, 'outside'), at('out'))
    for (const work of [
      () => files.read('./x/../none'),
      () => files.read('out/a'),
      () => files.write('out/a', ''),
    ]) {
      const { message } = await work().then(
        () => new Error('went through'),
        (thrown: Error) => thrown,
      )
      expect(message).not.toContain(top)
      expect(message).toMatch(/"(\.\/x\/\.\.\/none|out\/a)"/)
    }
  })
})

function grow(path: string): Promise<void> {
  return new Promise((resolve) => setImmediate(() => resolve(appendFileSync(path, 'y'.repeat(100_000)))))
}

/** A signal that is found aborted when it is looked at for the n-th time. */
function abortedAfter(looks: number): AbortSignal {
  const { signal } = new AbortController()
  let left = looks
  return Object.defineProperty(signal, 'aborted', { get: () => left-- <= 0 })
}

function mountSmall(path: string): string | undefined {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'pipe' })
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.replaceAll('\n', ' ') : 'no reason given'
  }
}
