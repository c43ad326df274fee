import { type FileHandle, open } from 'node:fs/promises'
import { messageOf } from '../../tool/errors.js'
import type { ShellOutcome } from '../../tool/runtime.js'

export type CaptureOptions = {
  /** How many bytes to store in memory. Above it, only the first and last half are; a file gets all output. */
  readonly maxBytes: number
  /** The maximum size of the file; further output is counted and dropped. */
  readonly maxFileBytes: number
  /** Creates the private file for the whole output and returns its path. */
  readonly newFile: () => Promise<string>
  readonly onText?: ((text: string) => void) | undefined
}

/** Collects a command's output: limited in memory, complete in a file when it is long, readable from any position. */
export class CapturedOutput {
  readonly #options: CaptureOptions
  readonly #decoder = new TextDecoder()
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  #total = 0
  #file: { readonly path: string; readonly handle: FileHandle; written: number } | undefined
  #spilled = false
  #problem: string | undefined
  #listening = true

  constructor(options: CaptureOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#total
  }

  get truncated(): boolean {
    return this.#spilled
  }

  get path(): string | undefined {
    return this.#file?.path
  }

  /** Adds a chunk. When a promise is returned, the caller has to wait for it before the next chunk. */
  append(chunk: Buffer): Promise<void> | undefined {
    this.#total += chunk.length
    this.#tell(this.#decoder.decode(chunk, { stream: true }))
    const before = this.#spilled
    if (!before && this.#total <= this.#options.maxBytes) {
      push(this.#head, chunk)
      this.#headBytes += chunk.length
      return undefined
    }
    this.#spilled = true
    return before ? this.#write(chunk) : this.#spill(chunk)
  }

  /** Ends the output. */
  async end(): Promise<void> {
    this.#tell(this.#decoder.decode())
    this.#listening = false
  }

  /** Closes the file; after this nothing can be read from it here. */
  async close(): Promise<void> {
    await this.#file?.handle.close()
  }

  /** Returns the whole output, or its head and tail with a line between them about what is missing and where it is. */
  text(): string {
    if (!this.#spilled) return decode(Buffer.concat(this.#head))
    const head = wholeCharacters(Buffer.concat(this.#head))
    const tail = fromCharacter(Buffer.concat(this.#tail))
    const missing = this.#total - head.length - tail.length
    const where =
      this.#problem ?? (this.#file === undefined ? '' : `; the whole output is in ${this.#file.path}`)
    return `${decode(head)}\n[… ${missing} bytes left out${where} …]\n${decode(tail)}`
  }

  /** Returns at most `limit` bytes from a position; `from` is where they begin when earlier ones were dropped. */
  async read(from: number, limit: number): Promise<{ bytes: Buffer; from: number }> {
    const start = Math.min(Math.max(0, Math.trunc(from)), this.#total)
    if (!this.#spilled) return { bytes: slice(this.#head, start, limit), from: start }
    const file = this.#file
    if (file !== undefined && start < file.written) {
      const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(limit), 0, limit, start)
      return { bytes: buffer.subarray(0, bytesRead), from: start }
    }
    const tailStart = this.#total - this.#tailBytes
    const kept = Math.max(start, tailStart)
    return { bytes: slice(this.#tail, kept - tailStart, limit), from: kept }
  }

  async #spill(chunk: Buffer): Promise<void> {
    const all = Buffer.concat([...this.#head, chunk])
    const half = Math.floor(this.#options.maxBytes / 2)
    this.#head = [all.subarray(0, half)]
    this.#headBytes = half
    this.#keepTail(all.subarray(half))
    try {
      const path = await this.#options.newFile()
      this.#file = { path, handle: await open(path, 'r+'), written: 0 }
    } catch (error) {
      this.#problem = `; they could not be kept in a file: ${messageOf(error)}`
    }
    await this.#toFile(all)
  }

  #write(chunk: Buffer): Promise<void> {
    this.#keepTail(chunk)
    return this.#toFile(chunk)
  }

  async #toFile(chunk: Buffer): Promise<void> {
    const file = this.#file
    if (file === undefined || this.#problem !== undefined) return
    const room = this.#options.maxFileBytes - file.written
    const part = chunk.subarray(0, room)
    try {
      await file.handle.write(part, 0, part.length, file.written)
      file.written += part.length
    } catch (error) {
      this.#problem = `; ${file.path} holds only the first ${file.written}: ${messageOf(error)}`
    }
    if (part.length < chunk.length)
      this.#problem = `; ${file.path} holds the first ${file.written}, its limit`
  }

  #keepTail(chunk: Buffer): void {
    const room = Math.max(1, this.#options.maxBytes - this.#headBytes)
    push(this.#tail, chunk)
    this.#tailBytes += chunk.length
    for (let first = this.#tail[0]; first !== undefined && this.#tailBytes > room; first = this.#tail[0]) {
      const excess = this.#tailBytes - room
      if (first.length > excess) {
        // A copy when only a small part of a large chunk is stored: a view would keep all of it in memory.
        this.#tail[0] = first.length > 2 * room ? Buffer.from(first.subarray(excess)) : first.subarray(excess)
        this.#tailBytes -= excess
      } else {
        this.#tail.shift()
        this.#tailBytes -= first.length
      }
    }
  }

  #tell(text: string): void {
    if (text === '' || !this.#listening) return
    try {
      this.#options.onText?.(text)
    } catch {
      // A listener only observes: when it throws, it is not called again, and the command continues.
      this.#listening = false
    }
  }
}

/** Adds a chunk, and joins the chunks when there are many: single bytes would take a hundred times their size. */
function push(chunks: Buffer[], chunk: Buffer): void {
  chunks.push(chunk)
  if (chunks.length > 512) chunks.splice(0, chunks.length, Buffer.concat(chunks))
}

function slice(chunks: readonly Buffer[], from: number, limit: number): Buffer {
  return Buffer.concat(chunks as Buffer[]).subarray(from, from + limit)
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** Returns the bytes without an incomplete character at their end. */
export function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return back < length ? bytes.subarray(0, bytes.length - back) : bytes
    }
  }
  return bytes
}

/** Returns the bytes without the rest of a character whose beginning is missing. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return bytes.subarray(start)
}

/** The outcome of a command that was aborted before it started. */
export function neverStarted(sandbox: string): ShellOutcome {
  return {
    exitCode: null,
    output: '',
    outputBytes: 0,
    truncated: false,
    timedOut: false,
    aborted: true,
    durationMs: 0,
    sandbox,
    blocked: [],
  }
}
