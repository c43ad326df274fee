import type { ToolResultContent } from '../tool/content.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import type { ToolRuntime } from '../tool/runtime.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'

/** Where bytes are written. It is read only if a result contains bytes. */
type ContentPlace = Pick<ToolRuntime, 'scratch'>

const maxParts = 200
const maxImages = 10
/** The maximum size in base64; larger images are written to a file. */
const maxImageBytes = 7 * 1024 * 1024

/** Converts the result of a server's tool to an envelope: visible text, images, and files for other bytes. */
export async function readCallResult(result: unknown, place: ContentPlace | undefined): Promise<Envelope> {
  if (!isRecord(result)) return errorEnvelope('The server answered with something that is not a result.')
  const parts = Array.isArray(result['content']) ? result['content'] : []
  const content = await readParts(parts, place)
  const structured = result['structuredContent']
  if (!content.some(({ type }) => type === 'text') && structured !== undefined)
    content.unshift({ type: 'text', text: visibleText(serializeToolOutput(structured)) })
  const text = content.every((part) => part.type === 'text')
    ? content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
    : undefined
  if (result['isError'] === true)
    return errorEnvelope(text || 'The tool failed and did not say why.', { exit_code: 1, untrusted: true })
  return outputEnvelope(text ?? content, { untrusted: true })
}

/** Converts the result of `resources/read` to an envelope. */
export async function readResourceResult(
  result: unknown,
  place: ContentPlace | undefined,
): Promise<Envelope> {
  const contents = isRecord(result) && Array.isArray(result['contents']) ? result['contents'] : []
  const content = await readParts(
    contents.map((resource: unknown) => ({ type: 'resource', resource })),
    place,
  )
  if (content.length === 0) return errorEnvelope('The server gave nothing for this resource.')
  const onlyText = content.every(({ type }) => type === 'text')
  return outputEnvelope(
    onlyText ? content.map((part) => (part.type === 'text' ? part.text : '')).join('\n') : content,
    { untrusted: true },
  )
}

async function readParts(
  parts: readonly unknown[],
  place: ContentPlace | undefined,
): Promise<ToolResultContent[]> {
  const read: ToolResultContent[] = []
  let images = 0
  for (const part of parts.slice(0, maxParts)) {
    const reading = readPart(part, place)
    const one = reading instanceof Promise ? await reading : reading
    if (one.type === 'image' && ++images > maxImages)
      read.push({ type: 'text', text: '[one more image, left out]' })
    else read.push(one)
  }
  if (parts.length > maxParts)
    read.push({ type: 'text', text: `[${parts.length - maxParts} more parts, left out]` })
  return read
}

function readPart(
  part: unknown,
  place: ContentPlace | undefined,
): ToolResultContent | Promise<ToolResultContent> {
  if (!isRecord(part)) return { type: 'text', text: '[something that is not content]' }
  const { type, text, data, mimeType, resource } = part
  if (type === 'text' && typeof text === 'string') return { type: 'text', text: visibleText(text) }
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return readBytes(data, mimeType, place)
  if (type === 'resource_link')
    return { type: 'text', text: `[resource ${line(part['uri'])} ${line(part['name'])}]` }
  if (type === 'resource' && isRecord(resource)) {
    if (typeof resource['text'] === 'string') return { type: 'text', text: visibleText(resource['text']) }
    if (typeof resource['blob'] === 'string') return readBytes(resource['blob'], resource['mimeType'], place)
  }
  return { type: 'text', text: `[content of the kind ${line(type)}, which is not supported]` }
}

async function readBytes(
  base64: string,
  mimeType: unknown,
  place: ContentPlace | undefined,
): Promise<ToolResultContent> {
  const named =
    typeof mimeType === 'string' && /^[a-z]+\/[a-z0-9.+-]{1,60}$/i.test(mimeType) ? mimeType : undefined
  const isImage = named !== undefined && pictures.has(named.toLowerCase())
  if (isImage && base64.length <= maxImageBytes && /^[A-Za-z0-9+/_-]*={0,2}$/.test(base64))
    return { type: 'image', data: base64, mediaType: named.toLowerCase() }
  const bytes = Buffer.from(base64, 'base64')
  const path = await place?.scratch?.write('mcp content', bytes)
  const where = path === undefined ? '' : `, kept in ${path}`
  return { type: 'text', text: `[${named ?? 'bytes'}, ${bytes.length} bytes${where}]` }
}

/** The image types that models can read. SVG is not one of them: it is text and can contain scripts. */
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function line(value: unknown): string {
  return typeof value === 'string' ? visibleLine(value, 300) : 'unknown'
}
