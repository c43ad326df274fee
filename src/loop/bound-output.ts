import { isToolResultContentArray, type ToolResultContent } from '../tool/content.js'
import type { OutputLimits } from '../tool/contract.js'
import { type Envelope, type EnvelopeMetadata, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { messageOf, tryOr } from '../tool/errors.js'
import { jsonTextOf, serializeToolOutput } from '../tool/serialize.js'

/** Writes output that is too long to a file of the session and returns its path. */
export type Spill = (label: string, data: string | Uint8Array) => Promise<string>

/** The output limit of a tool that sets none. */
export const defaultMaxBytes = 200 * 1024

/**
 * Limits an output to its tool's limit. Longer output is saved to a file in full; the model gets the start and the
 * file's path, which `read` accepts. Bytes, text in any encoding, lists and other data are saved unchanged.
 */
export function boundOutput(
  toolName: string,
  envelope: Envelope,
  limits: OutputLimits,
  spill: Spill,
): Envelope | Promise<Envelope> {
  const maxBytes = (limits.maxBytes ?? defaultMaxBytes) + (limits.extraBytes ?? 0)
  const small = withSmallMetadata(envelope)
  if (small !== envelope) return boundOutput(toolName, small, limits, spill)
  if (envelope.type === 'error') return boundError(toolName, envelope, maxBytes, spill)
  const { data, metadata } = envelope
  if (data instanceof Uint8Array) {
    const text = textIn(data)
    if (text === undefined) return nameBytes(data)
    if (data.byteLength <= maxBytes) return outputEnvelope(text, metadata)
    return cut({ head: headOfText(text, maxBytes), bytes: data.byteLength }, data)
  }
  if (isToolResultContentArray(data)) return boundContent(data)
  if (Array.isArray(data) && limits.maxItems !== undefined && data.length > limits.maxItems) {
    const head = data.slice(0, limits.maxItems)
    const text = serializeToolOutput(head)
    return cut(
      { head: byteLength(text) <= maxBytes ? head : headOfText(text, maxBytes), total: data.length },
      serializeToolOutput(data),
    )
  }
  const json = typeof data === 'string' ? data : jsonTextOf(data)
  const text = json ?? serializeToolOutput(data)
  // The cheap check first: a character has at most three bytes in UTF-8. A long text is measured once.
  const bytes = text.length * 3 <= maxBytes ? 0 : byteLength(text)
  // Data that JSON cannot represent (a cycle, a bigint) becomes text, because envelopes are stored in the log as
  // JSON.
  if (bytes <= maxBytes) return json === undefined ? outputEnvelope(text, metadata) : envelope
  return cut({ head: headOfText(text, maxBytes), bytes }, text)

  async function cut(kept: object, whole: string | Uint8Array): Promise<Envelope> {
    return outputEnvelope(kept, { ...metadata, truncated: true, ...(await spilled(spill, toolName, whole)) })
  }

  /**
   * Replaces bytes by their size and the path of a file with them: as text they would be unreadable, and as JSON a
   * list of numbers.
   */
  async function nameBytes(bytes: Uint8Array): Promise<Envelope> {
    const rest = await spilled(spill, toolName, bytes)
    return outputEnvelope({ binary: true, bytes: bytes.byteLength, ...rest }, metadata)
  }

  /** Limits the texts of multimodal content together. Images are not limited. */
  function boundContent(content: readonly ToolResultContent[]): Envelope | Promise<Envelope> {
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const fitsTogether = texts.reduce((sum, text) => sum + byteLength(text), 0) <= maxBytes
    return fitsTogether ? envelope : cutContent(content, texts)
  }

  async function cutContent(
    content: readonly ToolResultContent[],
    texts: readonly string[],
  ): Promise<Envelope> {
    let left = maxBytes
    const kept = content.map((part) => {
      if (part.type !== 'text') return part
      const text = headOfText(part.text, left)
      left -= byteLength(text)
      return { ...part, text }
    })
    return outputEnvelope(kept, {
      ...metadata,
      truncated: true,
      ...(await spilled(spill, toolName, texts.join('\n'))),
    })
  }
}

function boundError(
  toolName: string,
  envelope: Envelope & { type: 'error' },
  maxBytes: number,
  spill: Spill,
): Envelope | Promise<Envelope> {
  const { error_text: text } = envelope
  if (text.length * 3 <= maxBytes || byteLength(text) <= maxBytes) return envelope
  return cutError(toolName, envelope, maxBytes, spill)
}

async function cutError(
  toolName: string,
  envelope: Envelope & { type: 'error' },
  maxBytes: number,
  spill: Spill,
): Promise<Envelope> {
  const rest = await spilled(spill, toolName, envelope.error_text)
  return errorEnvelope(headOfText(envelope.error_text, maxBytes), {
    ...envelope.metadata,
    truncated: true,
    ...rest,
  })
}

const maxMetadata = 16 * 1024

/** Metadata usually has only a few numbers and names, whose size can be measured without JSON. */
function isSmall(metadata: EnvelopeMetadata): boolean {
  let size = 0
  for (const value of Object.values(metadata)) {
    if (typeof value === 'object' && value !== null)
      return (jsonTextOf(metadata)?.length ?? Number.POSITIVE_INFINITY) <= maxMetadata
    if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return false
    size += typeof value === 'string' ? value.length : 8
  }
  return size <= maxMetadata
}

/**
 * Metadata is part of every record and can reach the model. If it is too long or not JSON, only the fields that are
 * listed here are kept.
 */
function withSmallMetadata(envelope: Envelope): Envelope {
  if (isSmall(envelope.metadata)) return envelope
  const { duration_ms, truncated, output_path, exit_code, replaced } = envelope.metadata
  const kept = {
    duration_ms,
    metadata_dropped: true,
    ...(truncated === undefined ? {} : { truncated }),
    ...(output_path === undefined ? {} : { output_path }),
    ...(typeof exit_code === 'number' ? { exit_code } : {}),
    ...(replaced === true ? { replaced } : {}),
  }
  return envelope.type === 'error'
    ? errorEnvelope(envelope.error_text, kept)
    : outputEnvelope(envelope.data, kept)
}

/** A failed write, such as on a full disk, must not lose the result of work that is done. */
async function spilled(
  spill: Spill,
  toolName: string,
  whole: string | Uint8Array,
): Promise<{ output_path: string } | { spill_error: string }> {
  try {
    return { output_path: await spill(toolName, whole) }
  } catch (error) {
    return { spill_error: messageOf(error) }
  }
}

const encoder = new TextEncoder()

function byteLength(text: string): number {
  return encoder.encode(text).byteLength
}

/** Returns as much of the beginning as fits, without splitting a character. */
function headOfText(text: string, maxBytes: number): string {
  const buffer = new Uint8Array(Math.max(0, maxBytes))
  const { read } = encoder.encodeInto(text, buffer)
  return text.slice(0, read)
}

/** Decodes bytes that are text; returns undefined when they are not. */
function textIn(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  // Models cannot read text that is not UTF-8.
  return tryOr(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), undefined)
}
