import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { headOf } from './bounded-text.js'
import type { CallOptions, PathsRequest, ProgramHost, TextRequest } from './host.js'

/** Programs cannot read longer files at once: they read a range, or search. */
const maxTextLength = 16 * 1024 * 1024
const pageBytes = 190 * 1024

/**
 * Reads the text of a file: all of it, or an error with the limit, because a program cannot distinguish a truncated
 * text from a complete one. If the host provides no text, it is assembled from byte ranges of the tool `read`, in
 * which line ends are always line feeds.
 */
export async function readText(
  host: ProgramHost,
  request: TextRequest,
  maxBytes: number,
  options: CallOptions,
): Promise<Envelope> {
  const read = await readUpTo(host, request, maxBytes, options)
  if (read.type === 'error' || typeof read.data !== 'string' || fits(read.data, maxBytes)) return read
  const { file_path, offset, limit } = request
  const what = offset === undefined && limit === undefined ? 'The text' : 'The requested part'
  return errorEnvelope(
    `${what} of ${JSON.stringify(file_path)} is longer than maxOutputBytes=${maxBytes} bytes, so ctx.readFile returns none of it. ` +
      'Raise limits.maxOutputBytes (up to 16777216), or read some lines with { offset, limit }.',
  )
}

function fits(text: string, maxBytes: number): boolean {
  return headOf(text, maxBytes) === undefined
}

async function readUpTo(
  host: ProgramHost,
  request: TextRequest,
  maxBytes: number,
  options: CallOptions,
): Promise<Envelope> {
  const { file_path, offset, limit } = request
  const byLines = offset !== undefined || limit !== undefined
  // Slightly more than fits shows that there is more.
  const wanted = byLines ? maxTextLength : maxBytes + 8
  if (host.readText !== undefined)
    return host.readText(byLines ? request : { ...request, max_bytes: wanted }, options)
  let text = ''
  for (let at = 0; ; ) {
    const args = { file_path, start_byte: at, end_byte: at + Math.min(pageBytes, wanted - at) }
    const page = await host.call({ tool: 'read', args }, options)
    if (page.type === 'error') return page
    if (typeof page.data !== 'string')
      return errorEnvelope(`${file_path} is not text: read it with ctx.read.`)
    const range = page.metadata['range']
    const next = isRecord(range) && range['eof'] === false ? range['end_byte'] : undefined
    text += next === undefined ? page.data : page.data.replace(readOn, '')
    const over = typeof next === 'number' && next >= wanted
    if (over && byLines)
      return errorEnvelope(
        `${JSON.stringify(file_path)} is longer than ${maxTextLength} bytes: search it with ctx.grep.`,
      )
    if (typeof next !== 'number' || next <= at || over)
      return outputEnvelope(byLines ? linesOf(text, offset ?? 0, limit) : text)
    at = next
  }
}

const readOn = /\n\.\.\. \(more bytes available; continue with start_byte=\d+\)\n$/

function linesOf(text: string, offset: number, limit: number | undefined): string {
  const end = limit === undefined ? undefined : offset + limit
  return text
    .split(/(?<=\n)/)
    .slice(offset, end)
    .join('')
}

export type FoundPaths = { readonly paths: readonly string[]; readonly truncated: boolean }

/** Returns the paths that match a pattern; an error envelope when the search failed. */
export async function globPaths(
  host: ProgramHost,
  request: PathsRequest,
  options: CallOptions,
): Promise<Envelope<FoundPaths>> {
  const found = await (host.globPaths?.(request, options) ??
    host.call({ tool: 'glob', args: request }, options))
  if (found.type === 'error') return found
  const { data, metadata } = found
  const paths = Array.isArray(data) ? data.map(String) : listedPaths(String(data))
  const total = metadata['total']
  const truncated = metadata.truncated === true || (typeof total === 'number' && total > paths.length)
  return outputEnvelope({ paths, truncated }, metadata)
}

/** Parses the tool's page for a model: one path per line, unusual ones as JSON, an empty line and the count. */
function listedPaths(page: string): string[] {
  if (page.startsWith('No files found matching pattern:')) return []
  const [list = ''] = page.split(/\n\n(?=\d+ of (?:at least )?\d+ file\(s\) shown)/)
  return list
    .split('\n')
    .filter((line) => line !== '')
    .map(unquoted)
}

function unquoted(line: string): string {
  return line.startsWith('"') ? tryOr(() => String(JSON.parse(line)), line) : line
}
