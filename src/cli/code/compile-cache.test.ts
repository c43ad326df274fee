import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { readCompileCache, writeCompileCache } from './compile-cache.js'

function place() {
  const userDir = temporaryDirectory()
  return { userDir, file: join(userDir, 'cache', 'v1', 'run.code') }
}

const code = new Map([
  ['one-aaaaaaaa.js', Buffer.from([1, 2, 3])],
  ['two-bbbbbbbb.js', Buffer.alloc(100_000, 7)],
])
const nothing = new Map()

/** Compares as texts: vitest takes a second for each 100,000 bytes of a buffer. */
const texts = (files: ReadonlyMap<string, Uint8Array>): [string, string][] =>
  Array.from(files, ([name, bytes]) => [name, Buffer.from(bytes).toString('latin1')])

describe('the compile cache', () => {
  it('returns what was written', () => {
    const here = place()
    writeCompileCache(here, code)
    expect(texts(readCompileCache(here.file))).toEqual(texts(code))
  })

  it.each([0, 3, 4, 8, 20, 50_000, 100_040])('is rejected with a changed byte at %i', (at) => {
    const here = place()
    writeCompileCache(here, code)
    const bytes = readFileSync(here.file)
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
    writeFileSync(here.file, bytes)
    expect(readCompileCache(here.file)).toEqual(nothing)
  })

  it.each([0, 3, 7, 30, 50_000])('is rejected when it ends after %i bytes', (length) => {
    const here = place()
    writeCompileCache(here, code)
    writeFileSync(here.file, readFileSync(here.file).subarray(0, length))
    expect(readCompileCache(here.file)).toEqual(nothing)
  })

  it('is not read if other users can write it, nor through a symbolic link', () => {
    const here = place()
    writeCompileCache(here, code)
    chmodSync(here.file, 0o620)
    expect(readCompileCache(here.file)).toEqual(nothing)
    chmodSync(here.file, 0o600)
    renameSync(here.file, `${here.file}.real`)
    symlinkSync(`${here.file}.real`, here.file)
    expect(readCompileCache(here.file)).toEqual(nothing)
  })

  it('is ignored if a pipe or a directory is in its place', () => {
    const here = place()
    mkdirSync(dirname(here.file), { recursive: true })
    execFileSync('mkfifo', [here.file])
    expect(readCompileCache(here.file)).toEqual(nothing)
    rmSync(here.file)
    mkdirSync(here.file)
    expect(readCompileCache(here.file)).toEqual(nothing)
    expect(() => writeCompileCache(here, code)).not.toThrow()
  })

  it('does not create the user’s cache directory, and is skipped where it cannot be written', () => {
    const { userDir } = place()
    const missing = join(userDir, 'missing')
    writeCompileCache({ userDir: missing, file: join(missing, 'cache', 'run.code') }, code)
    expect(existsSync(missing)).toBe(false)
    writeFileSync(join(userDir, 'cache'), 'a file of the user')
    expect(() =>
      writeCompileCache({ userDir, file: join(userDir, 'cache', 'v1', 'run.code') }, code),
    ).not.toThrow()
    expect(readFileSync(join(userDir, 'cache'), 'utf8')).toBe('a file of the user')
  })

  it('of another version is removed after a month, not earlier', () => {
    const here = place()
    const [old, recent] = ['v0', 'v2'].map((version) => join(here.userDir, 'cache', version))
    for (const [directory, days] of [
      [old, 31],
      [recent, 29],
    ] as const) {
      mkdirSync(directory ?? '', { recursive: true })
      const then = new Date(Date.now() - days * 24 * 60 * 60 * 1_000)
      utimesSync(directory ?? '', then, then)
    }
    writeCompileCache(here, code)
    expect([old, recent].map((directory) => existsSync(directory ?? ''))).toEqual([false, true])
    expect(texts(readCompileCache(here.file))).toEqual(texts(code))
  })
})
