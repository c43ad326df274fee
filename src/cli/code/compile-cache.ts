import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Compiled code of V8, by the name of the script file. */
export type CompileCache = ReadonlyMap<string, Buffer>

const sumBytes = 4
const maxBytes = 64 * 1024 * 1024
const maxUnusedMs = 30 * 24 * 60 * 60 * 1_000

/**
 * Reads a compile cache. Never throws: a file that is missing, damaged, or writable by other users is ignored. V8
 * trusts cached code, so a checksum ensures that it gets exactly what was written.
 */
export function readCompileCache(file: string): CompileCache {
  try {
    const bytes = readOwn(file)
    const rest = bytes.subarray(sumBytes)
    if (bytes.readUInt32LE(0) !== sumOf(rest)) return new Map()
    const headEnd = 4 + rest.readUInt32LE(0)
    const sizes = JSON.parse(rest.toString('utf8', 4, headEnd)) as [name: string, size: number][]
    let at = headEnd
    return new Map(
      sizes.map(([name, size]) => {
        at += size
        return [name, rest.subarray(at - size, at)]
      }),
    )
  } catch {
    // Usually the first start: there is no cache yet.
    return new Map()
  }
}

/** Writes a compile cache. Never throws, and does nothing if the user's directory does not exist. */
export function writeCompileCache({ userDir, file }: CacheLocation, code: CompileCache): void {
  try {
    if (!existsSync(userDir)) return
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    replace(file, bytesOf(code))
    sweep(dirname(file))
  } catch {
    // A full or read-only disk must not make a finished command fail.
  }
}

export type CacheLocation = { readonly userDir: string; readonly file: string }

function bytesOf(code: CompileCache): Buffer {
  const head = Buffer.from(JSON.stringify([...code].map(([name, bytes]) => [name, bytes.length])))
  const rest = Buffer.concat([number(head.length), head, ...code.values()])
  return Buffer.concat([number(sumOf(rest)), rest])
}

/** Replaces the file atomically, so that other processes never read a part of it. */
function replace(file: string, bytes: Buffer): void {
  const temporary = `${file}.${process.pid}`
  rmSync(temporary, { force: true })
  try {
    writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Reads a regular file of this user. Does not block on a pipe, and does not follow a symbolic link. */
function readOwn(file: string): Buffer {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stat = fstatSync(descriptor)
    const isOwn = process.getuid === undefined || stat.uid === process.getuid()
    const canOthersWrite = process.getuid !== undefined && (stat.mode & 0o022) !== 0
    if (!stat.isFile() || !isOwn || canOthersWrite || stat.size > maxBytes) return Buffer.alloc(0)
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function sumOf(bytes: Buffer): number {
  // Loaded only when there is a cache.
  return process.getBuiltinModule('node:zlib').crc32(bytes)
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** Removes caches of other versions that were not used for a month, by the time of the file just written. */
function sweep(directory: string): void {
  const parent = dirname(directory)
  const now = statSync(directory).mtimeMs
  for (const name of readdirSync(parent)) {
    const other = join(parent, name)
    if (now - statSync(other).mtimeMs > maxUnusedMs) rmSync(other, { recursive: true, force: true })
  }
}
