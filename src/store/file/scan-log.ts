import { crc32 } from 'node:zlib'
import { isRecord } from '../../tool/json.js'
import type { SessionRecord } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { FileLayer } from './file-layer.js'
import { checksumAfter, moreAfter, sealAt, sealLength } from './log-line.js'

/** The end of the last complete batch of a log, with the checksum up to there: the position to append at. */
export type LogEnd = {
  readonly end: number
  readonly checksum: number
  /** The problem after that position, if there is one. */
  readonly problem: string | undefined
}

/** Reads a log up to its end or to the first error. Reports damage; throws for a later schema version. */
export class LogScan implements LogEnd {
  readonly records: SessionRecord[] = []
  end = 0
  checksum: number
  problem: string | undefined
  readonly #sessionId: string
  readonly #options: ScanOptions
  /** The length of the lines at the beginning of the bytes that were examined before: their batch had not ended. */
  #unfinished = 0

  constructor(sessionId: string, options: ScanOptions) {
    this.#sessionId = sessionId
    this.#options = options
    this.checksum = options.checksum ?? 0
  }

  /** Reads the complete batches at the beginning of these bytes and returns their length in bytes. */
  take(bytes: Buffer): number {
    const end = lastBatchEnd(bytes, this.#unfinished)
    if (end >= 0) {
      this.#unfinished = 0
      return this.#takeBatches(bytes, 0, end) ? end + 1 : this.#takeUpToProblem(bytes)
    }
    const lastLineEnd = bytes.lastIndexOf(newline)
    if (lastLineEnd >= 0 && checkedSeal(bytes, 0, lastLineEnd, this.checksum) < 0)
      return this.#takeUpToProblem(bytes)
    this.#unfinished = lastLineEnd + 1
    return 0
  }

  /** Ends the scan with this many unread bytes. */
  finish(left: number): void {
    if (left > 0) this.problem = 'its last lines are cut off'
  }

  /**
   * Reads all batches up to the one that ends at this newline if its checksum, which covers all of them, is correct.
   */
  #takeBatches(bytes: Buffer, start: number, end: number): boolean {
    const sealed = checkedSeal(bytes, start, end, this.checksum)
    if (sealed < 0) return false
    if (!this.#options.keep) this.#checkSchemas(bytes, start, end)
    else if (!this.#keepRecords(bytes.toString('utf8', start, end))) return false
    this.end += end + 1 - start
    this.checksum = checksumAfter(sealed)
    return true
  }

  /** Reads line by line, to find where the damage is, or to detect that a batch has not ended yet. */
  #takeUpToProblem(bytes: Buffer): number {
    let taken = 0
    let checksum = this.checksum
    for (let start = 0; ; ) {
      const end = bytes.indexOf(newline, start)
      if (end < 0) return taken
      const sealed = checkedSeal(bytes, start, end, checksum)
      const isLast = sealed >= 0 && moreAfter(bytes, start) === 0
      if (sealed < 0 || (isLast && !this.#takeBatches(bytes, taken, end))) {
        this.problem = `the line at byte ${this.end + start - taken} does not fit its checksum`
        return taken
      }
      checksum = checksumAfter(sealed)
      start = end + 1
      if (isLast) taken = start
    }
  }

  #keepRecords(text: string): boolean {
    const { records } = this
    const before = records.length
    for (const line of text.split('\n')) {
      const record = parseLine(line)
      if (record === undefined) {
        records.length = before
        return false
      }
      if (record.type === 'session' && this.#options.anySchema !== true)
        refuseFutureSchema(this.#sessionId, record)
      records.push(record)
    }
    return true
  }

  /** Checks the schema version, only in lines that may be the session's row: that is a fraction of the work. */
  #checkSchemas(bytes: Buffer, start: number, end: number): void {
    for (
      let at = bytes.indexOf(sessionMark, start);
      at >= 0 && at < end;
      at = bytes.indexOf(sessionMark, at + 1)
    ) {
      const record = parseLine(lineAround(bytes, at))
      if (record?.type === 'session') refuseFutureSchema(this.#sessionId, record)
    }
  }
}

export type ScanOptions = {
  readonly keep: boolean
  /** The checksum of everything before, for a scan that begins inside a log. */
  readonly checksum?: number
  /** Whether a later schema is accepted. */
  readonly anySchema?: boolean
}

const newline = 0x0a
const sessionMark = Buffer.from('"type":"session"')

/** Returns the newline that ends the last complete batch at or after `from`; -1 when there is none. */
function lastBatchEnd(bytes: Buffer, from: number): number {
  for (let end = bytes.lastIndexOf(newline); end >= from; ) {
    const before = end === 0 ? -1 : bytes.lastIndexOf(newline, end - 1)
    if (moreAfter(bytes, before + 1) === 0) return end
    end = before
  }
  return -1
}

/** Returns the checksum of a line if it is correct for its bytes and all before them; otherwise -1. */
function checkedSeal(bytes: Buffer, start: number, end: number, before: number): number {
  const sealed = end - start < sealLength ? -1 : sealAt(bytes, end)
  return sealed >= 0 && crc32(bytes.subarray(start, end - sealLength), before) === sealed ? sealed : -1
}

/** Parses a line. A line with a valid checksum that is not a record can only come from another program. */
function parseLine(line: string): SessionRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(line)
    if (!isRecord(parsed) || typeof parsed['type'] !== 'string' || !isRecord(parsed['data'])) return undefined
    return { type: parsed['type'], data: parsed['data'] } as unknown as SessionRecord
  } catch {
    return undefined
  }
}

function lineAround(bytes: Buffer, at: number): string {
  const start = bytes.lastIndexOf(newline, at) + 1
  return bytes.toString('utf8', start, bytes.indexOf(newline, at))
}

/** Reads a whole file into a scan. */
export function scanFileSync(files: FileLayer, fd: number, scan: LogScan): void {
  const steps = readSteps(files.facts(fd).size, scan)
  for (let step = steps.next(); step.done !== true; ) {
    const { buffer, offset, length, position } = step.value
    step = steps.next(files.read(fd, buffer, offset, length, position))
  }
}

/** Reads a whole file into a scan without blocking: other work runs between the chunks. */
export async function scanFile(files: FileLayer, fd: number, scan: LogScan): Promise<void> {
  const steps = readSteps(files.facts(fd).size, scan)
  for (let step = steps.next(); step.done !== true; ) {
    const { buffer, offset, length, position } = step.value
    step = steps.next(await files.readLater(fd, buffer, offset, length, position))
  }
}

type ReadStep = { buffer: Buffer; offset: number; length: number; position: number }

/** Reads one chunk after the other into one buffer, which grows only when a single line is longer. */
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
