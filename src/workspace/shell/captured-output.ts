import { type FileHandle, open } from 'node:fs/promises'
import { messageOf } from '../../tool/errors.js'
import type { ShellOutcome } from '../../tool/runtime.js'

export type CaptureOptions = {
  /** How many bytes to keep in memory. Past it the first and the last half are kept, and the whole goes to a file. */
  readonly maxBytes: number
  /** Where the file ends growing; the rest of the output is counted and dropped. */
  readonly maxFileBytes: number
  /** Makes the private file for the whole output and gives its path. */
  readonly newFile: () => Promise<string>
  readonly onText?: ((text: string) => void) | undefined
}

/** A command's output while it comes: bounded in memory, whole in a file when long, readable from any position. */
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

  /** Takes a chunk. The promise is there when the caller has to wait before the next one. */
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

  /** No more will come. */
  async end(): Promise<void> {
    this.#tell(this.#decoder.decode())
    this.#listening = false
  }

  /** Releases the file; after this nothing can be read from it here. */
  async close(): Promise<void> {
    await this.#file?.handle.close()
  }

  /** All of it, or the head and the tail with a line between them that says what is missing and where it is. */
  text(): string {
    if (!this.#spilled) return decode(Buffer.concat(this.#head))
    const head = wholeCharacters(Buffer.concat(this.#head))
    const tail = fromCharacter(Buffer.concat(this.#tail))
    const missing = this.#total - head.length - tail.length
    const where =
      this.#problem ?? (this.#file === undefined ? '' : `; the whole output is in ${this.#file.path}`)
    return `${decode(head)}\n[… ${missing} bytes left out${where} …]\n${decode(tail)}`
  }

  /** Bytes from a position on, at most `limit`; `from` says where they begin when earlier ones were dropped. */
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
        // A copy when little is kept of a large chunk: a view would hold all of it in memory.
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
      // Watching is not owning: a listener that throws is not called again, and the command continues.
      this.#listening = false
    }
  }
}

/** Adds a chunk, and joins them when there are many: a byte at a time would cost a hundred times its size. */
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

/** The bytes without a character that was cut off at their end. */
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

/** The bytes without the rest of a character whose beginning is missing. */
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
