import type { Readable, Writable } from 'node:stream'
import type { DirectoryEntry, FileKind } from '../../../tool/runtime.js'
import { type FileSystemStat, systemError, type WorkspaceFileSystem } from '../../files/file-system.js'
import { WorkspaceBackendError } from '../errors.js'

/** A client of SFTP version 3, as OpenSSH serves it, over the streams of a process. */
export interface SftpClient
  extends Pick<WorkspaceFileSystem, 'lstat' | 'readLink' | 'list' | 'read' | 'makeDirectory'> {
  realPath(path: string): Promise<string>
  /** Creates a new file. Fails if the path already exists. */
  create(path: string, bytes: Uint8Array, mode: number): Promise<void>
  /** Replaces the entry at `to` in one step. */
  replace(from: string, to: string): Promise<void>
  /** Fails if `to` already exists. */
  move(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  removeDirectory(path: string): Promise<void>
}

/**
 * Starts an SFTP session. Rejects when the other side does not support SFTP. Pending requests are rejected with `lost`
 * when the streams end. A server that owes an answer and sends nothing for `silenceMs` is treated as failed, even if
 * the connection itself is alive.
 */
export async function openSftp(
  input: Writable,
  output: Readable,
  lost: Promise<never>,
  silenceMs = 60_000,
): Promise<SftpClient> {
  const channel = new Channel(input, output, lost, silenceMs)
  const { reader } = await channel.greet()
  const extensions = new Set<string>()
  while (reader.left > 0) {
    extensions.add(reader.string().toString())
    reader.string()
  }
  const canReplace = extensions.has('posix-rename@openssh.com')
  const canSync = extensions.has('fsync@openssh.com')

  const ask = (type: number, ...fields: readonly Field[]): Promise<Answer> => channel.ask(type, fields)
  const done = async (asked: Promise<Answer>): Promise<void> => checkStatus(await asked)
  const handleFrom = async (asked: Promise<Answer>): Promise<Buffer> => {
    const answer = await asked
    if (answer.type !== reply.handle) throw statusError(answer)
    return answer.reader.string()
  }
  const nameFrom = async (asked: Promise<Answer>): Promise<string> => {
    const answer = await asked
    if (answer.type !== reply.name || answer.reader.number() !== 1) throw statusError(answer)
    return answer.reader.string().toString()
  }
  const closing = async <T>(handle: Buffer, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } finally {
      await ask(request.close, handle)
    }
  }

  return {
    async lstat(path) {
      const answer = await ask(request.lstat, path)
      if (answer.type === reply.attributes) return readAttributes(answer.reader)
      const error = statusError(answer)
      if (error.status === statusCode.noSuchFile) return undefined
      // OpenSSH has one code for a missing file and for a path with a file as a parent, and another for the rest.
      throw error
    },
    realPath: (path) => nameFrom(ask(request.realPath, path)),
    readLink: (path) => nameFrom(ask(request.readLink, path)),
    async list(path, limit) {
      const handle = await handleFrom(ask(request.openDirectory, path))
      return closing(handle, async () => {
        const entries: DirectoryEntry[] = []
        // `.` and `..`, which are not listed, count too.
        for (let names = 0; names <= limit + 2; ) {
          const answer = await ask(request.readDirectory, handle)
          if (answer.type !== reply.name) {
            const error = statusError(answer)
            if (error.status === statusCode.endOfFile) break
            throw error
          }
          const count = answer.reader.number()
          // Without this check, the loop would never end with a server that sends no names.
          if (count === 0) throw notSftp()
          for (let left = count; left > 0; left -= 1) {
            const name = answer.reader.string().toString()
            // A name with a slash would be a path that no rule has judged.
            if (name === '' || /[/\0]/.test(name)) throw notSftp()
            names += 1
            answer.reader.string()
            const { kind, size } = readAttributes(answer.reader)
            if (name !== '.' && name !== '..')
              entries.push(kind === 'file' ? { name, kind, size } : { name, kind })
          }
        }
        return entries
      })
    },
    async read(path, start, end) {
      const handle = await handleFrom(ask(request.open, path, openFlags.read, 0))
      return closing(handle, async () => {
        const parts: Buffer[] = []
        for (let at = start; at < end; ) {
          const answer = await ask(request.read, handle, BigInt(at), Math.min(chunkBytes, end - at))
          if (answer.type !== reply.data) {
            const error = statusError(answer)
            if (error.status === statusCode.endOfFile) break
            throw error
          }
          const part = answer.reader.string()
          if (part.length === 0 || part.length > end - at) throw notSftp()
          parts.push(Buffer.from(part))
          at += part.length
        }
        return new Uint8Array(Buffer.concat(parts))
      })
    },
    async create(path, bytes, mode) {
      const flags = openFlags.write | openFlags.create | openFlags.exclusive
      const handle = await handleFrom(ask(request.open, path, flags, permissionFlag, mode))
      await closing(handle, async () => {
        for (let at = 0; at < bytes.length; at += chunkBytes)
          await done(ask(request.write, handle, BigInt(at), Buffer.from(bytes.subarray(at, at + chunkBytes))))
        // The umask of the account does not apply to a file that is replaced.
        await done(ask(request.setHandleStat, handle, permissionFlag, mode))
        if (canSync) await done(ask(request.extended, 'fsync@openssh.com', handle))
      })
    },
    async replace(from, to) {
      if (!canReplace)
        throw systemError(
          'ENOTSUP',
          'the server cannot replace a file in one step (posix-rename@openssh.com)',
        )
      await done(ask(request.extended, 'posix-rename@openssh.com', from, to))
    },
    move: (from, to) => done(ask(request.rename, from, to)),
    makeDirectory: (path) => done(ask(request.makeDirectory, path, 0)),
    removeFile: (path) => done(ask(request.remove, path)),
    removeDirectory: (path) => done(ask(request.removeDirectory, path)),
  }
}

const request = {
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  setHandleStat: 10,
  openDirectory: 11,
  readDirectory: 12,
  remove: 13,
  makeDirectory: 14,
  removeDirectory: 15,
  realPath: 16,
  rename: 18,
  readLink: 19,
  extended: 200,
} as const
const reply = { version: 2, status: 101, handle: 102, data: 103, name: 104, attributes: 105 } as const
const statusCode = { ok: 0, endOfFile: 1, noSuchFile: 2, denied: 3, failure: 4, unsupported: 8 } as const
const openFlags = { read: 1, write: 2, create: 8, exclusive: 0x20 } as const
const permissionFlag = 4
/** Every server accepts packets of this size. */
const chunkBytes = 32 * 1024
const maxPacketBytes = 4 * 1024 * 1024

type Field = string | number | bigint | Buffer
type Answer = { readonly type: number; readonly reader: Reader }

/** Matches answers to requests by their number. */
class Channel {
  readonly #input: Writable
  readonly #output: Readable
  readonly #waiting = new Map<number, { resolve(answer: Answer): void; reject(error: unknown): void }>()
  #greeting: ((answer: Answer) => void) | undefined
  #held: Buffer = Buffer.alloc(0)
  #failed: { readonly error: unknown } | undefined
  #count = 0
  readonly #silenceMs: number
  #silence: NodeJS.Timeout | undefined

  constructor(input: Writable, output: Readable, lost: Promise<never>, silenceMs: number) {
    this.#input = input
    this.#output = output
    this.#silenceMs = silenceMs
    output.on('data', (chunk: Buffer) => {
      this.#silence?.refresh()
      try {
        this.#take(chunk)
      } catch (error) {
        this.#fail(error)
      }
    })
    // The exit of the process provides the reason.
    input.on('error', () => undefined)
    output.on('error', () => undefined)
    lost.catch((error: unknown) => this.#fail(error))
  }

  greet(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#greeting = resolve
      this.#waiting.set(-1, { resolve, reject })
      this.#send(Buffer.from([1, 0, 0, 0, 3]))
    })
  }

  ask(type: number, fields: readonly Field[]): Promise<Answer> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed.error)
    this.#count = (this.#count + 1) % 0xffff_ffff
    const id = this.#count
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#send(Buffer.concat([Buffer.from([type]), encode(id), ...fields.map(encode)]))
    })
  }

  #send(body: Buffer): void {
    this.#silence ??= setTimeout(() => {
      const seconds = Math.ceil(this.#silenceMs / 1_000)
      this.#fail(
        new WorkspaceBackendError(
          'backend_unreachable',
          `The SFTP server has not answered for ${seconds} s. Open the session again.`,
        ),
      )
    }, this.#silenceMs)
    this.#input.write(Buffer.concat([encode(body.length), body]))
  }

  #take(chunk: Buffer): void {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    while (this.#held.length >= 4) {
      const length = this.#held.readUInt32BE(0)
      if (length < 1 || length > maxPacketBytes) throw notSftp()
      if (this.#held.length < 4 + length) return
      const reader = new Reader(this.#held.subarray(4, 4 + length))
      this.#held = this.#held.subarray(4 + length)
      this.#answer(reader.byte(), reader)
    }
  }

  #answer(type: number, reader: Reader): void {
    const number = reader.number()
    if (type === reply.version) {
      this.#settled(-1)
      this.#greeting?.({ type, reader })
      return
    }
    const waiting = this.#waiting.get(number)
    this.#settled(number)
    waiting?.resolve({ type, reader })
  }

  #settled(number: number): void {
    this.#waiting.delete(number)
    if (this.#waiting.size === 0) this.#endWatch()
  }

  #endWatch(): void {
    clearTimeout(this.#silence)
    this.#silence = undefined
  }

  #fail(error: unknown): void {
    this.#failed ??= { error }
    this.#endWatch()
    // Stops reading: further data would be buffered without any request for it. Closing its output ends ssh.
    this.#held = Buffer.alloc(0)
    this.#output.destroy()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function encode(field: Field): Buffer {
  if (typeof field === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(field)
    return bytes
  }
  if (typeof field === 'bigint') {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64BE(field)
    return bytes
  }
  const bytes = typeof field === 'string' ? Buffer.from(field) : field
  return Buffer.concat([encode(bytes.length), bytes])
}

/** Reads the fields of one packet. Throws when a field ends after the packet. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  byte(): number {
    this.#at += 1
    return this.#bytes.readUInt8(this.#at - 1)
  }

  number(): number {
    this.#at += 4
    return this.#bytes.readUInt32BE(this.#at - 4)
  }

  long(): number {
    this.#at += 8
    return Number(this.#bytes.readBigUInt64BE(this.#at - 8))
  }

  string(): Buffer {
    const length = this.number()
    if (length > this.left) throw notSftp()
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}

function notSftp(): Error {
  return systemError('EPROTO', 'the server does not speak SFTP')
}

function readAttributes(reader: Reader): FileSystemStat {
  const flags = reader.number()
  const size = flags & 1 ? reader.long() : 0
  if (flags & 2) {
    reader.number()
    reader.number()
  }
  const mode = flags & permissionFlag ? reader.number() : 0
  let mtimeMs = 0
  if (flags & 8) {
    reader.number()
    mtimeMs = reader.number() * 1000
  }
  if (flags & 0x8000_0000)
    for (let left = reader.number(); left > 0; left -= 1) {
      reader.string()
      reader.string()
    }
  return { kind: kindOf(mode), size, mtimeMs, mode: mode & 0o7777 }
}

function kindOf(mode: number): FileKind {
  const format = mode & 0o170000
  if (format === 0o100000) return 'file'
  if (format === 0o040000) return 'directory'
  return format === 0o120000 ? 'symlink' : 'other'
}

function checkStatus(answer: Answer): void {
  const error = statusError(answer)
  if (error.status !== statusCode.ok) throw error
}

function statusError({ type, reader }: Answer): Error & { readonly status: number } {
  const status = type === reply.status ? reader.number() : statusCode.failure
  const words = type === reply.status && reader.left > 0 ? reader.string().toString() : 'an unexpected answer'
  const codes: Readonly<Record<number, string>> = {
    [statusCode.noSuchFile]: 'ENOENT',
    [statusCode.denied]: 'EACCES',
    [statusCode.unsupported]: 'ENOTSUP',
  }
  return Object.assign(systemError(codes[status] ?? 'EIO', words), { status })
}
