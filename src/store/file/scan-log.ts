import { crc32 } from 'node:zlib'
import { isRecord } from '../../tool/json.js'
import type { SessionRecord } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { FileLayer } from './file-layer.js'
import { moreAfter, sealAt, sealLength } from './log-line.js'

/** Reads a log up to its end or to the first thing that is wrong. Damage is found and told; a future schema is thrown. */
export class LogScan {
  readonly records: SessionRecord[] = []
  /** Where the last whole batch ends, and the checksum of all up to there: the place to go on writing from. */
  end = 0
  checksum: number
  /** What is wrong with what stands behind `end`. */
  problem: string | undefined
  readonly #sessionId: string
  readonly #options: ScanOptions
  #position = 0
  #running: number
  /** How many lines of the last batch are still to come. */
  #more = 0
  #batch: SessionRecord[] = []

  constructor(sessionId: string, options: ScanOptions) {
    this.#sessionId = sessionId
    this.#options = options
    this.checksum = options.checksum ?? 0
    this.#running = this.checksum
  }

  /** Takes the whole lines at the beginning of these bytes and gives how many bytes they were. */
  take(bytes: Buffer): number {
    const end = bytes.lastIndexOf(newline)
    if (end < 0) return 0
    if (this.#takeLines(bytes, 0, end)) return end + 1
    // Somewhere in there is the damage. Line by line it shows where.
    for (let start = 0; ; ) {
      const lineEnd = bytes.indexOf(newline, start)
      if (lineEnd < 0 || this.problem !== undefined) return start
      if (this.#takeLines(bytes, start, lineEnd)) start = lineEnd + 1
      else this.problem ??= `the line at byte ${this.#position} does not fit its checksum`
    }
  }

  /** No more bytes come; so many are left over. */
  finish(left: number): void {
    if (left > 0) this.problem = `the line at byte ${this.#position} is cut off`
    else if (this.#more > 0) this.problem = `the last ${this.#more} lines of a batch are missing`
  }

  /** Takes lines that end at a newline, if the checksum of the last one fits: it vouches for all of them. */
  #takeLines(bytes: Buffer, start: number, end: number): boolean {
    const sealed = end - start < sealLength ? -1 : sealAt(bytes, end)
    if (sealed < 0 || crc32(bytes.subarray(start, end - sealLength), this.#running) !== sealed) return false
    const problem = this.#options.keep ? this.#keepLines(bytes, start, end) : this.#passLines(bytes, start, end)
    if (problem !== undefined) {
      this.problem = problem
      return false
    }
    this.#position += end + 1 - start
    this.#running = checksumAfter(sealed)
    if (this.#more > 0) return true
    this.end = this.#position
    this.checksum = this.#running
    return true
  }
export type ScanOptions = {
  readonly keep: boolean
  /** Of what stands before, when the scan begins inside a log. */
  readonly checksum?: number
  /** Whether a later schema is no reason to stop. */
  readonly anySchema?: boolean
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
