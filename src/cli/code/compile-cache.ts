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

/** What V8 made of scripts, by the names of their files. */
export type CompileCache = ReadonlyMap<string, Buffer>

const sumBytes = 4
const maxBytes = 64 * 1024 * 1024
const maxUnusedMs = 30 * 24 * 60 * 60 * 1_000

/**
 * Never throws: what is not there, not whole, or not the user's own is as if nothing had been kept. V8 believes what it is given, so
 * nothing is handed to it that is not byte for byte what was written.
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
    // Most often the first time.
    return new Map()
  }
}

/** Never throws: whoever cannot keep it does without. Makes no user's directory, only what is in it. */
export function writeCompileCache({ userDir, file }: CodePlace, code: CompileCache): void {
  try {
    if (!existsSync(userDir)) return
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    replace(file, bytesOf(code))
    sweep(dirname(file))
  } catch {
    // A full or read-only disk is no reason to fail after all is done.
  }
}

export type CodePlace = { readonly userDir: string; readonly file: string }

function bytesOf(code: CompileCache): Buffer {
  const head = Buffer.from(JSON.stringify([...code].map(([name, bytes]) => [name, bytes.length])))
  const rest = Buffer.concat([number(head.length), head, ...code.values()])
  return Buffer.concat([number(sumOf(rest)), rest])
}

/** Others read the old or the new, never a half. */
function replace(file: string, bytes: Buffer): void {
  const aside = `${file}.${process.pid}`
  rmSync(aside, { force: true })
  try {
    writeFileSync(aside, bytes, { mode: 0o600, flag: 'wx' })
    renameSync(aside, file)
  } finally {
    rmSync(aside, { force: true })
  }
}

/** A pipe in its place is not waited for, and a link not followed. */
function readOwn(file: string): Buffer {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stat = fstatSync(descriptor)
    const isOwn = process.getuid === undefined || stat.uid === process.getuid()
    const mayOthersWrite = process.getuid !== undefined && (stat.mode & 0o022) !== 0
    if (!stat.isFile() || !isOwn || mayOthersWrite || stat.size > maxBytes) return Buffer.alloc(0)
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function sumOf(bytes: Buffer): number {
  // Loaded only by whoever has something to look at.
  return process.getBuiltinModule('node:zlib').crc32(bytes)
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** What other versions of Node have left, long unused. The file that was just written tells the time. */
function sweep(directory: string): void {
  const parent = dirname(directory)
  const now = statSync(directory).mtimeMs
  for (const name of readdirSync(parent)) {
    const other = join(parent, name)
    if (now - statSync(other).mtimeMs > maxUnusedMs) rmSync(other, { recursive: true, force: true })
  }
}
