import { decodeUtf8 } from './text-file.js'

/** Bytes that can be read in pieces: a file, or the decoded content of one. */
export type ByteSource = { read(start: number, end: number): Promise<Uint8Array> }

export type WindowRequest = {
  /** The position where the text begins: after a byte-order mark. */
  readonly start: number
  /** The number of lines to skip. */
  readonly offset: number
  readonly limit: number
  /** The maximum number of source bytes to show. A line that does not fit is left out; the first one is cut. */
  readonly maxBytes: number
  /** The maximum size of the lines with their numbers, in bytes. */
  readonly maxShownBytes: number
}

export type WindowLine = {
  readonly text: string
  /** Its position in the source. */
  readonly at: number
  /** Its length in bytes, without its ending. */
  readonly bytes: number
  /** The number of these bytes that are in `text`. */
  readonly shown: number
}

export type LineWindow = {
  readonly lines: readonly WindowLine[]
  /** Whether anything follows the last line. */
  readonly more: boolean
  /** The number of lines; known only when the end was reached. */
  readonly total?: number | undefined
  readonly endings: { readonly lf: number; readonly crlf: number }
  readonly finalNewline: boolean
  /** Some bytes were not UTF-8 and are shown as replacement characters. */
  readonly lossy: boolean
  /** The first line with a NUL: from there on the content is not text. The window ends before it. */
  readonly nulAt?: number | undefined
}

const chunkBytes = 1024 * 1024
const lineFeed = 10
const carriageReturn = 13
const numberBytes = 8

/**
 * Reads some lines of a source, with memory that grows with the shown lines and never with the source. `onChunk` is
 * called between chunks and can throw to stop.
 */
export async function readLineWindow(
  source: ByteSource,
  request: WindowRequest,
  onChunk: () => void,
): Promise<LineWindow> {
  const state = openWindow(request)
  let at = request.start
  for (;;) {
    onChunk()
    const chunk = await source.read(at, at + chunkBytes)
    take(state, chunk, at)
    at += chunk.length
    if (state.full) return close(state, true)
    if (chunk.length < chunkBytes) break
  }
  if (state.pending.bytes > 0) finishLine(state, false)
  return close(state, state.full)
}

type State = {
  readonly request: WindowRequest
  readonly lines: WindowLine[]
  /** The number of the line that is being read, from 0. */
  line: number
  pending: { at: number; bytes: number; kept: Uint8Array[]; keptBytes: number; last: number }
  /** Bytes of the source that are shown, line ends included. */
  used: number
  /** The same, with line numbers. */
  shown: number
  endings: { lf: number; crlf: number }
  finalNewline: boolean
  lossy: boolean
  nulAt?: number | undefined
  /** Nothing more is shown, though bytes remain. */
  full: boolean
}

function openWindow(request: WindowRequest): State {
  return {
    request,
    lines: [],
    line: 0,
    pending: fresh(request.start),
    used: 0,
    shown: 0,
    endings: { lf: 0, crlf: 0 },
    finalNewline: false,
    lossy: false,
    full: false,
  }
}

function fresh(at: number): State['pending'] {
  return { at, bytes: 0, kept: [], keptBytes: 0, last: -1 }
}

function take(state: State, chunk: Uint8Array, chunkAt: number): void {
  let from = 0
  while (from < chunk.length && !state.full) {
    if (state.line < state.request.offset) {
      from = skip(state, chunk, from)
      state.pending = fresh(chunkAt + from)
      // A skipped line without a line ending still counts as a line.
      if (!state.finalNewline) state.pending.bytes = 1
      continue
    }
    if (state.lines.length >= state.request.limit) {
      state.full = true
      return
    }
    const end = chunk.indexOf(lineFeed, from)
    keep(state, chunk.subarray(from, end < 0 ? chunk.length : end))
    if (end < 0 || state.full) return
    finishLine(state, true)
    from = end + 1
    state.pending = fresh(chunkAt + from)
  }
}

/** Skips lines. Returns the position after the last complete line, or the end of the chunk. */
function skip(state: State, chunk: Uint8Array, from: number): number {
  let at = from
  let line = state.line
  const { offset } = state.request
  const { length } = chunk
  while (line < offset && at < length) {
    if (chunk[at++] === lineFeed) line++
  }
  state.line = line
  state.finalNewline = chunk[at - 1] === lineFeed
  return at
}

function keep(state: State, part: Uint8Array): void {
  const { pending, request } = state
  if (part.length === 0) return
  pending.bytes += part.length
  pending.last = part[part.length - 1] ?? -1
  // One byte more than the limit, because it may be a carriage return, which is not part of the line.
  const room = request.maxBytes + 1 - pending.keptBytes
  if (room <= 0) return
  const kept = part.slice(0, room)
  pending.kept.push(kept)
  pending.keptBytes += kept.length
  // Stop here: the rest of such a line may be gigabytes of zeros in a sparse file.
  if (kept.includes(0)) {
    state.nulAt = state.line
    state.full = true
  }
}

function finishLine(state: State, ended: boolean): void {
  const { pending, request } = state
  if (state.line < request.offset) {
    state.line++
    state.finalNewline = false
    return
  }
  if (state.lines.length >= request.limit) {
    state.full = true
    return
  }
  const crlf = ended && pending.last === carriageReturn
  const bytes = crlf ? pending.bytes - 1 : pending.bytes
  const whole = joined(pending.kept).subarray(0, bytes)
  const visible = bytes > request.maxBytes ? cutAtCharacter(whole, request.maxBytes) : whole
  state.used += pending.bytes + (ended ? 1 : 0)
  state.shown += numberBytes + visible.length
  if (state.lines.length > 0 && (state.used > request.maxBytes || state.shown > request.maxShownBytes)) {
    state.full = true
    return
  }
  const text = decodeUtf8(visible)
  if (text === undefined) state.lossy = true
  state.lines.push({
    text: text ?? new TextDecoder().decode(visible),
    at: pending.at,
    bytes,
    shown: visible.length,
  })
  if (ended) state.endings[crlf ? 'crlf' : 'lf']++
  state.finalNewline = ended
  state.line++
}

function close(state: State, more: boolean): LineWindow {
  const { lines, endings, finalNewline, lossy, nulAt } = state
  return {
    lines,
    more,
    ...(more ? {} : { total: state.line }),
    endings,
    finalNewline,
    lossy,
    nulAt,
  }
}

/** Returns at most this many bytes, without splitting a character. */
export function cutAtCharacter(bytes: Uint8Array, most: number): Uint8Array {
  if (bytes.length <= most) return bytes
  let end = most
  for (let back = 0; back < 3 && isContinuation(bytes[end]); back++) end--
  // Still inside a character after three steps back: this is not UTF-8, so cut anywhere.
  return bytes.subarray(0, isContinuation(bytes[end]) ? most : end)
}

export function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  if (parts.length === 1 && first !== undefined) return first
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
