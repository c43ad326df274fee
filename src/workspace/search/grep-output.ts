import type { GrepCollector } from './grep-collector.js'
import { lineText, maxHeldBytes } from './line-text.js'

const newline = 0x0a
const colon = 0x3a
const binaryNote = Buffer.from(': WARNING: stopped searching binary file')
const maxPathLength = 8_192

/**
 * Parses the output of `rg --null --line-number --column` (or `rg --null --count`), chunk by chunk, into a collector. A
 * record is `path NUL line NUL column NUL text LF` for a match, `path NUL line-text LF` for context, `path NUL count
 * LF` for a count. Buffers at most one unfinished record, and only the beginning of a long line.
 */
export function createGrepReader(
  collector: GrepCollector,
  mode: 'lines' | 'counts',
  pathOf: (shown: string) => string,
): (chunk: Buffer) => boolean {
  let held: Buffer = Buffer.alloc(0)
  let skipping = false
  /** A part of the chunk with the last record. */
  let currentPath: Buffer = Buffer.alloc(0)
  let wanted = false

  const open = (data: Buffer, from: number, end: number) => {
    currentPath = data.subarray(from, end)
    const text = data.toString('utf8', from, end)
    // No other tool can access a file whose name is not UTF-8, and no rule could have judged it.
    collector.close()
    wanted = !text.includes('\uFFFD') && collector.open(pathOf(text))
  }

  /** Handles the record that starts at `from`; returns where the next one starts, or -1 when it is incomplete. */
  const record = (data: Buffer, from: number): number => {
    const pathEnd = from + currentPath.length
    // Comparing is a call into Node, so the byte after the path is read first.
    const after = data[pathEnd]
    const same =
      (after === 0 || after === colon) && currentPath.length > 0 && holdsAt(data, from, currentPath)
    if (same && holdsAt(data, pathEnd, binaryNote)) {
      const end = data.indexOf(newline, pathEnd)
      if (end < 0) return -1
      if (wanted) collector.discard()
      wanted = false
      return end + 1
    }
    const nul = same && after === 0 ? pathEnd : data.indexOf(0, from)
    if (nul < 0) return -1
    const end = data.indexOf(newline, nul)
    if (end < 0 && data.length - nul < maxHeldBytes + maxPathLength) return -1
    if (!same || nul !== pathEnd) open(data, from, nul)
    if (wanted) finding(collector, mode, data, nul + 1, end < 0 ? data.length : end)
    if (end >= 0) return end + 1
    skipping = true
    return data.length
  }

  return (chunk) => {
    let from = 0
    if (skipping) {
      const end = chunk.indexOf(newline)
      if (end < 0) return true
      skipping = false
      from = end + 1
    }
    const data = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = Buffer.alloc(0)
    while (from < data.length) {
      const next = record(data, from)
      if (next < 0) {
        held = data.subarray(from)
        break
      }
      from = next
    }
    return !collector.full()
  }
}

function holdsAt(data: Buffer, at: number, wanted: Buffer): boolean {
  const end = at + wanted.length
  return end <= data.length && data.compare(wanted, 0, wanted.length, at, end) === 0
}

/** Adds the rest of a record, from its line number to its end, to the collector. */
function finding(
  collector: GrepCollector,
  mode: 'lines' | 'counts',
  data: Buffer,
  from: number,
  end: number,
): void {
  if (mode === 'counts') {
    collector.count(Number(data.toString('latin1', from, end)))
    return
  }
  let at = from
  let line = 0
  for (; at < end && digit(data[at]); at += 1) line = line * 10 + ((data[at] ?? 0) - 0x30)
  const isMatch = at < end && data[at] === 0
  at += 1
  if (!isMatch) {
    if (collector.wantsText()) collector.context(line, lineText(data.subarray(at, end), 0))
    return
  }
  if (!collector.wantsText()) {
    collector.match(line, '')
    return
  }
  let columnEnd = at
  let column = 0
  for (; columnEnd < end && digit(data[columnEnd]); columnEnd += 1)
    column = column * 10 + ((data[columnEnd] ?? 0) - 0x30)
  // Without a column, the digits are part of the text.
  const hasColumn = columnEnd > at && columnEnd < end && data[columnEnd] === 0
  const text = data.subarray(hasColumn ? columnEnd + 1 : at, end)
  collector.match(line, lineText(text, Math.max(0, column - 1)))
}

function digit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}
