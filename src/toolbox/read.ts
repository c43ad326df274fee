import type { ToolResultContent } from '../tool/content.js'
import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type OutputEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { FileStat, RuntimeFiles } from '../tool/runtime.js'
import { type ContentKind, contentKind } from './content-kind.js'
import { endingStyle } from './line-endings.js'
import { type ByteSource, type LineWindow, readLineWindow, type WindowLine } from './line-window.js'
import { describeEntries, orDescribeMissing } from './nearest-path.js'
import { pathText } from './path-text.js'
import { readByteRange } from './read-bytes.js'
import { requireService } from './require-service.js'

export type ReadArgs = {
  file_path: string
  offset?: number | undefined
  limit?: number | undefined
  start_byte?: number | undefined
  end_byte?: number | undefined
}

const maxBytes = 200 * 1024
/** Space for line numbers and notes: a file of very short lines has more numbers than text. */
const extraBytes = 200 * 1024
const noteBytes = 4 * 1024
const headBytes = 64 * 1024
/** The maximum size of an image: 5 MB after base64, which is the limit of providers. */
const maxImageBytes = 3_750_000
const maxUtf16Bytes = 8 * 1024 * 1024

/** Shows a file: numbered lines, a byte range, or an image. */
export const readTool = builtInTool<ReadArgs>({
  name: 'read',
  description:
    'Read a file as numbered lines, or an image. Shows 200 KB at most and says how to read on. With start_byte: the ' +
    'plain text of a byte range. Directories: use ls.',
  kind: 'read',
  idempotent: true,
  limits: { maxBytes, extraBytes },
  requires: { fs: { read: ['{workspace}/**', '{scratch}/**'] } },
  parameters: objectSchema({
    file_path: {
      type: 'string',
      description: 'From the workspace root, or an output_path',
    },
    'offset?': { type: 'integer', minimum: 0, description: 'Lines to skip' },
    'limit?': { type: 'integer', minimum: 1 },
    'start_byte?': { type: 'integer', minimum: 0 },
    'end_byte?': { type: 'integer', minimum: 1, description: 'Exclusive' },
  }),
  touches: ({ file_path }) => [{ fs: 'read', path: file_path }],
  async execute(args, context): Promise<OutputEnvelope<string | ToolResultContent[]>> {
    const files = requireService(context, 'files')
    const path = args.file_path
    const byRange = args.start_byte !== undefined || args.end_byte !== undefined
    if (byRange && (args.offset !== undefined || args.limit !== undefined))
      throw new CapstanError(
        'read_arguments',
        'Give either lines (offset, limit) or bytes (start_byte, end_byte), not both.',
      )
    const { head, stat } = await orDescribeMissing(context, path, openHead(files, path))
    const known = contentKind(head)
    if (known.kind === 'binary') throw binaryError(path, stat, known.name)
    if (byRange) {
      refuseRangeOf(path, known)
      return readByteRange(files, args, stat.size, maxBytes)
    }
    if (known.kind === 'image') return readImage(files, path, stat, known.mediaType)
    return readLines(context, files, args, { stat, head, known })
  },
})

/**
 * Reads the first bytes of a file. Most files are smaller, so they are complete after one step and need no `stat`.
 */
async function openHead(
  files: RuntimeFiles,
  path: string,
): Promise<{ readonly head: Uint8Array; readonly stat: Stat }> {
  try {
    const head = await files.readRange(path, 0, headBytes)
    if (head.length < headBytes) return { head, stat: { size: head.length, mtimeMs: 0 } }
  } catch (error) {
    const stat = await files.stat(path).catch(() => undefined)
    throw stat?.kind === 'directory' ? await directoryError(files, path) : error
  }
  // Before the content is read, so that a change during the read can be detected.
  const stat = await files.stat(path)
  return { head: await files.readRange(path, 0, headBytes), stat }
}

type Stat = Pick<FileStat, 'size' | 'mtimeMs'>
type Known = Extract<ContentKind, { kind: 'utf8' | 'utf16' }>
type Opened = { readonly stat: Stat; readonly head: Uint8Array; readonly known: Known }

async function readLines(
  { signal }: ToolCallContext,
  files: RuntimeFiles,
  { file_path: path, offset = 0, limit = Number.POSITIVE_INFINITY }: ReadArgs,
  { stat, head, known }: Opened,
): Promise<OutputEnvelope<string>> {
  const source = known.kind === 'utf8' ? rawSource(files, path, head) : await utf16Source(files, path, known)
  const start = known.kind === 'utf8' ? known.bomBytes : 0
  const maxShownBytes = maxBytes + extraBytes - noteBytes
  const request = { start, offset, limit, maxBytes, maxShownBytes }
  const window = await readLineWindow(source, request, () => {
    if (signal?.aborted) throw new CapstanError('file_aborted', `Reading ${pathText(path)} was cancelled.`)
  })
  if (window.nulAt === offset) throw binaryError(path, stat, `data; a NUL byte in line ${offset + 1}`)
  const { lines, total } = window
  if (total !== undefined && offset > total)
    throw new CapstanError(
      'read_offset',
      `Offset ${offset} exceeds file length (${total} lines) of ${pathText(path)}. Use an offset below ${total}.`,
    )
  const changed = source.whole ? false : await hasChanged(files, path, stat)
  const range = { offset, lines: lines.length, eof: !window.more }
  return outputEnvelope(
    `${numberedLines(lines, offset, known.kind === 'utf8')}${emptiness(window, path, offset)}${notesOn(window, offset, changed)}`,
    {
      file_path: path,
      size: stat.size,
      encoding: known.kind === 'utf8' ? (window.lossy ? 'unknown' : 'utf-8') : known.label,
      line_endings: endingStyle(window.endings),
      ...(start > 0 || known.kind === 'utf16' ? { byte_order_mark: true } : {}),
      ...(window.more ? {} : { final_newline: window.finalNewline }),
      range: {
        ...range,
        ...(window.more ? { next_offset: offset + lines.length } : {}),
        ...(total === undefined ? {} : { total_lines: total }),
      },
      // The rest is in the file itself, so `output_path` is its path and no copy is written.
      ...(isCut(window, limit) ? { truncated: true } : {}),
      ...(isCut(window, limit) && window.nulAt === undefined ? { output_path: path } : {}),
    },
  )
}

/** Returns whether less is shown than was requested. */
function isCut({ more, lines }: LineWindow, limit: number): boolean {
  return (more && lines.length < limit) || lines.some(({ shown, bytes }) => shown < bytes)
}

function numberedLines(lines: readonly WindowLine[], offset: number, byByte: boolean): string {
  let text = ''
  let number = offset
  for (const line of lines) text += numbered(line, ++number, byByte)
  return text
}

function numbered({ text, at, bytes, shown }: WindowLine, number: number, byByte: boolean): string {
  const readOn = byByte ? `; the rest: start_byte=${at + shown} end_byte=${at + bytes}` : ''
  const mark = shown < bytes ? ` ... [cut: ${shown} of ${bytes} bytes${readOn}]` : ''
  return `${String(number).padStart(6)}\t${text}${mark}\n`
}

function notesOn({ more, lines, nulAt, lossy }: LineWindow, offset: number, changed: boolean): string {
  let text = ''
  if (more && nulAt === undefined)
    text += note(`... (more lines available; continue with offset=${offset + lines.length})`)
  if (nulAt !== undefined) text += note(`(line ${nulAt + 1} has NUL bytes in it: the rest is binary data)`)
  if (lossy)
    text += note(
      '(not valid UTF-8: bytes that are not text are shown as \uFFFD; edit and patch refuse this file)',
    )
  if (changed) text += note('(the file was changed while it was read; read it again for one state of it)')
  return text
}

function note(text: string): string {
  return `\n${text}\n`
}

function emptiness({ lines, total }: LineWindow, path: string, offset: number): string {
  if (lines.length > 0) return ''
  if (total === 0) return `(${pathText(path)} is empty)`
  return `(end of file: offset ${offset} equals file length)`
}

type Source = ByteSource & { /** The whole file was read in one step. */ readonly whole: boolean }

function rawSource(files: RuntimeFiles, path: string, head: Uint8Array): Source {
  const whole = head.length < headBytes
  return {
    whole,
    read: async (start, end) => (whole ? head.subarray(start, end) : files.readRange(path, start, end)),
  }
}

/** UTF-16 files are rare and rarely large, so the whole file is converted to UTF-8. */
async function utf16Source(
  files: RuntimeFiles,
  path: string,
  { label }: Extract<Known, { kind: 'utf16' }>,
): Promise<Source> {
  const { bytes } = await files.read(path, { maxBytes: maxUtf16Bytes })
  const decoded = new TextEncoder().encode(new TextDecoder(label).decode(bytes))
  return { whole: true, read: async (start, end) => decoded.subarray(start, end) }
}

/**
 * Returns whether a file changed while it was read. Growing does not count: logs grow, and what was read stays valid.
 */
async function hasChanged(files: RuntimeFiles, path: string, before: Stat): Promise<boolean> {
  const now = await files.stat(path).catch(() => undefined)
  return (
    now === undefined ||
    now.size < before.size ||
    (now.mtimeMs !== before.mtimeMs && now.size === before.size)
  )
}

async function readImage(
  files: RuntimeFiles,
  path: string,
  { size }: Stat,
  mediaType: string,
): Promise<OutputEnvelope<ToolResultContent[]>> {
  if (size > maxImageBytes)
    throw new CapstanError(
      'image_too_large',
      `${pathText(path)} is an image (${mediaType}) of ${size} bytes; images up to ${maxImageBytes} bytes can be shown. ` +
        'Make a smaller copy of it and read that.',
    )
  const { bytes } = await files.read(path, { maxBytes: maxImageBytes })
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return outputEnvelope<ToolResultContent[]>(
    [
      { type: 'text', text: `${pathText(path)}: ${mediaType}, ${bytes.length} bytes` },
      { type: 'image', data, mediaType },
    ],
    { file_path: path, size: bytes.length, media_type: mediaType },
  )
}

async function directoryError(files: RuntimeFiles, path: string): Promise<CapstanError> {
  const entries = await files.list(path).catch(() => undefined)
  const holds = entries === undefined ? '' : ` ${describeEntries(path, entries)}`
  return new CapstanError(
    'file_kind',
    `${pathText(path)} is a directory, not a file.${holds} Read one of its files, or list it with ls.`,
  )
}

function binaryError(path: string, { size }: Stat, name: string): CapstanError {
  return new CapstanError(
    'file_binary',
    `${pathText(path)} is a binary file (${name}, ${size} bytes) and cannot be shown as text. ` +
      'Use a command that understands the format.',
  )
}

function refuseRangeOf(path: string, known: ContentKind): asserts known is ContentKind & { kind: 'utf8' } {
  if (known.kind === 'utf8') return
  const what = known.kind === 'utf16' ? 'UTF-16 text' : 'not text'
  throw new CapstanError(
    'read_arguments',
    `${pathText(path)} is ${what}; a byte range of it cannot be shown. Read it without start_byte and end_byte.`,
  )
}
