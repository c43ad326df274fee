import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import { isRecord } from '../../tool/json.js'
import { headOf } from './bounded-text.js'
import type { CallOptions, PathsRequest, ProgramHost, TextRequest } from './host.js'

/** Past this, whole files are not for programs: they ask for a range, or search. */
const maxTextLength = 16 * 1024 * 1024
const pageBytes = 190 * 1024

/**
 * The text of a file, all of it or an error that names the limit: a program cannot tell a text that was cut from one that ends there. Where the host lends none, it is put together from byte ranges of the tool `read`, which differ from the file in
 * that line ends are always line feeds.
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
  const what = offset === undefined && limit === undefined ? 'The text' : 'What was asked for'
  return errorEnvelope(
    `${what} of ${JSON.stringify(file_path)} is longer than maxOutputBytes=${maxBytes} bytes, so ctx.readFile gives none of it. ` +
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
  // A little more than fits shows that there is more.
  const wanted = byLines ? maxTextLength : maxBytes + 8
  if (host.readText !== undefined)
    return host.readText(byLines ? request : { ...request, max_bytes: wanted }, options)
  let text = ''
  for (let at = 0; ; ) {
    const args = { file_path, start_byte: at, end_byte: at + Math.min(pageBytes, wanted - at) }
    const page = await host.call({ tool: 'read', args }, options)
    if (page.type === 'error') return page
    if (typeof page.data !== 'string') return errorEnvelope(`${file_path} is no text: read it with ctx.read.`)
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

/** The paths that a pattern finds; an error envelope when the search failed. */
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

/** The tool's page for a model: one path a line, odd ones quoted as JSON, then an empty line and how many there are. */
function listedPaths(page: string): string[] {
  if (page.startsWith('No files found matching pattern:')) return []
  const [list = ''] = page.split(/\n\n(?=\d+ of (?:at least )?\d+ file\(s\) shown)/)
  return list
    .split('\n')
    .filter((line) => line !== '')
    .map(unquoted)
}

function unquoted(line: string): string {
  if (!line.startsWith('"')) return line
  try {
    return String(JSON.parse(line))
  } catch {
    return line
  }
}
