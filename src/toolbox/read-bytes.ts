import { type OutputEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { withLf } from './line-endings.js'
import { cutAtCharacter, isContinuation } from './line-window.js'
import { pathText } from './path-text.js'
import { byteOrderMark, decodeUtf8 } from './text-file.js'

type ByteRange = {
  readonly file_path: string
  readonly start_byte?: number | undefined
  readonly end_byte?: number | undefined
}

/** Returns the text of a byte range, without line numbers. Its edges move inward to whole characters. */
export async function readByteRange(
  files: RuntimeFiles,
  { file_path: path, start_byte: start = 0, end_byte }: ByteRange,
  size: number,
  maxBytes: number,
): Promise<OutputEnvelope<string>> {
  const wanted = Math.min(end_byte ?? size, size)
  refuseOutside(path, start, end_byte, size)
  const end = Math.min(wanted, start + maxBytes)
  // Read three more bytes to see whether a character continues after the end.
  const read = await files.readRange(path, start, Math.min(end + 3, size))
  const from = start === 0 ? 0 : leadingPart(read)
  const slice = cutAtCharacter(read, end - start).subarray(from)
  if (slice.includes(0))
    throw new CapstanError(
      'file_binary',
      `Bytes ${start} to ${end} of ${pathText(path)} are binary data and cannot be shown as text.`,
    )
  const text = decodeUtf8(slice)
  const next = start + from + slice.length
  const shown = withLf(text ?? new TextDecoder().decode(slice))
  const more = next < size ? `\n... (more bytes available; continue with start_byte=${next})\n` : ''
  return outputEnvelope(`${shown.startsWith(byteOrderMark) ? shown.slice(1) : shown}${more}`, {
    file_path: path,
    size,
    range: { start_byte: start + from, end_byte: next, eof: next >= size },
    ...(text === undefined ? { encoding: 'unknown' } : {}),
    ...(end < wanted ? { truncated: true, output_path: path } : {}),
  })
}

function refuseOutside(path: string, start: number, end: number | undefined, size: number): void {
  if (end !== undefined && end <= start)
    throw new CapstanError('read_arguments', `end_byte ${end} must be larger than start_byte ${start}.`)
  if (start >= size && !(start === 0 && size === 0))
    throw new CapstanError(
      'read_offset',
      `start_byte ${start} exceeds the size of ${pathText(path)} (${size} bytes).`,
    )
}

/** Returns the number of bytes at the beginning that belong to a character that began earlier. */
function leadingPart(bytes: Uint8Array): number {
  let at = 0
  while (at < 3 && isContinuation(bytes[at])) at++
  return isContinuation(bytes[at]) ? 0 : at
}
