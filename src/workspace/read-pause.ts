import type { Readable } from 'node:stream'
import { isRecord } from '../tool/json.js'

/** The first reads are not followed by a pause, so that a short output is not delayed. */
const promptReads = 8
/** A read of this size comes from a program that collects its output itself: a pause would only make it wait. */
const largeBytes = 4_096

/**
 * Returns a function to call after each read of a process's output: after a small one, the next read waits for a
 * millisecond. A process that writes line by line, as builds and ripgrep do, otherwise causes almost one read for each
 * line, which takes more processor time than everything that is done with the output. Streams have no option for this,
 * so the handle of the stream is used where there is one.
 */
export function pauseAfterSmallReads(output: Readable): (chunk: Buffer) => void {
  const handle: unknown = Reflect.get(output, '_handle')
  if (!isRecord(handle)) return () => undefined
  const { readStop, readStart } = handle
  if (typeof readStop !== 'function' || typeof readStart !== 'function') return () => undefined
  let reads = 0
  const start = () => {
    if (!output.destroyed) readStart.call(handle)
  }
  return ({ length }) => {
    reads += 1
    if (reads <= promptReads || length >= largeBytes) return
    readStop.call(handle)
    setTimeout(start, 1)
  }
}
