import { crc32 } from 'node:zlib'
import { isRecord } from '../../tool/json.js'
import type { SessionRecord } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { FileLayer } from './file-layer.js'
import { moreAfter, sealAt, sealLength } from './log-line.js'

/** Reads a log line by line up to its end or to the first thing that is wrong. Damage is found, never thrown. */
export class LogScan {
  readonly records: SessionRecord[] = []
  /** Where the last whole batch ends, and its checksum: the place to go on writing from. */
  end = 0
  checksum = 0
  /** What is wrong with the line behind `end`. */
  problem: string | undefined
  readonly #sessionId: string
  readonly #keep: boolean
  #line = 0
  #position = 0
  #lineChecksum = 0
  #more = 0
  #batch: SessionRecord[] = []

  /** Without `keep` the records are checked but not made, which takes a fraction of the time. */
  constructor(sessionId: string, { keep, checksum = 0 }: { readonly keep: boolean; readonly checksum?: number }) {
    this.#sessionId = sessionId
    this.#keep = keep
    this.checksum = checksum
    this.#lineChecksum = checksum
  }

  /** Takes the whole lines at the beginning of these bytes and gives how many bytes they were. */
  take(bytes: Buffer): number {
    let start = 0
    for (;;) {
      const end = bytes.indexOf(newline, start)
      if (end < 0) return start
      this.#line++
      this.problem = this.#takeLine(bytes, start, end)
      if (this.problem !== undefined) return start
      this.#position += end + 1 - start
      start = end + 1
      if (this.#more === 0) this.#takeBatch()
    }
  }

  /** No more bytes come; so many are left over. */
  finish(left: number): void {
    if (left > 0) this.problem = `line ${this.#line + 1} is cut off`
    else if (this.#more > 0) this.problem = `the last ${this.#more} lines of a batch are missing`
  }

  #takeLine(bytes: Buffer, start: number, end: number): string | undefined {
    const seal = end - start < sealLength ? -1 : sealAt(bytes, end)
    if (seal < 0) return `line ${this.#line} has no checksum`
    if (crc32(bytes.subarray(start, end - sealLength), this.#lineChecksum) !== seal)
      return `line ${this.#line} does not fit its checksum`
    const more = moreAfter(bytes, start)
    if (this.#more > 0 && more !== this.#more - 1) return `line ${this.#line} is not the next of its batch`
    this.#lineChecksum = seal
    this.#more = more
    if (!this.#keep && bytes[start + typeOffset(more)] !== letterS) return undefined
    return this.#takeRecord(bytes.toString('utf8', start, end))
  }

  #takeRecord(line: string): string | undefined {
    let parsed: unknown
    try {
      parsed = JSON.parse(line)
    } catch {
      return `line ${this.#line} is no JSON`
    }
    if (!isLogRecord(parsed)) return `line ${this.#line} is no record`
    const { type, data } = parsed
    const record = { type, data } as SessionRecord
    refuseFutureSchema(this.#sessionId, record)
    if (this.#keep) this.#batch.push(record)
    return undefined
  }

  #takeBatch(): void {
    for (const record of this.#batch) this.records.push(record)
    this.#batch = []
    this.end = this.#position
    this.checksum = this.#lineChecksum
  }
}

const newline = 0x0a
const letterS = 0x73

/** Where the name of the type begins in a line. Sessions are the only records whose type begins with an `s`. */
function typeOffset(more: number): number {
  return more === 0 ? '{"type":"'.length : '{"more":,"type":"'.length + String(more).length
}

function isLogRecord(value: unknown): value is { type: string; data: Record<string, unknown> } {
  return isRecord(value) && typeof value['type'] === 'string' && isRecord(value['data'])
}

/** Reads a whole file into a scan. */
export function scanFileSync(files: FileLayer, fd: number, scan: LogScan): void {
  const steps = readSteps(files.facts(fd).size, scan)
  for (let step = steps.next(); step.done !== true; ) {
    const { buffer, offset, length, position } = step.value
    step = steps.next(files.read(fd, buffer, offset, length, position))
  }
}

/** The same without blocking: other work goes on between the chunks. */
export async function scanFile(files: FileLayer, fd: number, scan: LogScan): Promise<void> {
  const steps = readSteps(files.facts(fd).size, scan)
  for (let step = steps.next(); step.done !== true; ) {
    const { buffer, offset, length, position } = step.value
    step = steps.next(await files.readLater(fd, buffer, offset, length, position))
  }
}

type ReadStep = { buffer: Buffer; offset: number; length: number; position: number }

/** One chunk after the other into one buffer, which grows only when a single line is longer. */
function* readSteps(size: number, scan: LogScan): Generator<ReadStep, void, number> {
  let buffer = Buffer.allocUnsafe(Math.min(size + 1, chunkBytes))
  let held = 0
  let position = 0
  for (;;) {
    if (held === buffer.length) buffer = Buffer.concat([buffer], Math.max(chunkBytes, buffer.length * 2))
    const got = yield { buffer, offset: held, length: buffer.length - held, position }
    if (got === 0) break
    position += got
    held += got
    const taken = scan.take(buffer.subarray(0, held))
    if (scan.problem !== undefined) return
    buffer.copyWithin(0, taken, held)
    held -= taken
  }
  scan.finish(held)
}

const chunkBytes = 1024 * 1024
