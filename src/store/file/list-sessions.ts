import { join } from 'node:path'
import { sessionInfo } from '../session-info.js'
import type { SessionInfo } from '../session-store.js'
import type { FileLayer } from './file-layer.js'
import { readOnly } from './file-layer.js'
import { checksumAfter, sealAt } from './log-line.js'
import { logName } from './repair-log.js'
import { LogScan } from './scan-log.js'

/**
 * Reads the information about a session from the beginning and the end of its log; the work does not grow with the
 * log.
 */
export async function infoOf(files: FileLayer, directory: string, id: string): Promise<SessionInfo> {
  const fd = files.open(join(directory, logName), readOnly)
  try {
    const { size, mtimeMs } = files.facts(fd)
    const head = await readWindow(files, fd, 0, size)
    const start = Math.max(windowBytes, size - windowBytes)
    const tail = start < size ? await readWindow(files, fd, start, size) : Buffer.alloc(0)
    const info = sessionInfo(id, [...recordsAtStart(id, head), ...recordsAtEnd(id, tail)])
    return info.updatedAtMs === undefined ? { ...info, updatedAtMs: mtimeMs } : info
  } finally {
    files.close(fd)
  }
}

const windowBytes = 32 * 1024

/** Most logs are shorter than a window: a buffer of their size comes from Node's pool. */
async function readWindow(files: FileLayer, fd: number, position: number, end: number): Promise<Buffer> {
  const length = Math.min(windowBytes, Math.max(0, end - position))
  const buffer = Buffer.allocUnsafe(length)
  return buffer.subarray(0, await files.readLater(fd, buffer, 0, length, position))
}

function recordsAtStart(id: string, bytes: Buffer): LogScan['records'] {
  return scanned(id, bytes, 0)
}

/** Reads records from a position inside a line: that line's checksum is complete, and the next line builds on it. */
function recordsAtEnd(id: string, bytes: Buffer): LogScan['records'] {
  const end = bytes.indexOf('\n')
  const sealed = end < 0 ? -1 : sealAt(bytes, end)
  return sealed < 0 ? [] : scanned(id, bytes.subarray(end + 1), checksumAfter(sealed))
}

function scanned(id: string, bytes: Buffer, checksum: number): LogScan['records'] {
  const scan = new LogScan(id, { keep: true, checksum, anySchema: true })
  scan.take(bytes)
  return scan.records
}
