import type { ToolResultPart } from '../tool/completion.js'
import { isToolResultContentArray } from '../tool/content.js'
import { type Envelope, isEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'

/**
 * The result of a call in a log: what the model got (`content`), and the envelope it was made from: `{ type, data or
 * error_text, metadata }`. Older logs have no envelope.
 */
export type StoredToolResult = ToolResultPart & {
  /**
   * Instead of `data`, it can have `dataIn`, which means that the data is the `content` itself, or the text of its only
   * part. So images and long texts are not stored twice.
   */
  readonly envelope?: object
}

/** The minimum length from which a text that is both data and content is stored once. */
const longText = 4 * 1024

/** Adds the envelope to a result, for the log. */
export function withEnvelope(piece: ToolResultPart, envelope: Envelope | undefined): StoredToolResult {
  if (envelope === undefined) return piece
  const dataIn = placeOf(piece, envelope)
  if (dataIn === undefined || envelope.type === 'error') return { ...piece, envelope }
  const { type, metadata } = envelope
  return { ...piece, envelope: { type, dataIn, metadata } }
}

function placeOf(piece: ToolResultPart, envelope: Envelope): 'content' | 'text' | undefined {
  if (envelope.type === 'error') return undefined
  const { data } = envelope
  if (typeof data === 'string')
    return data.length >= longText && data === onlyText(piece) ? 'text' : undefined
  return isToolResultContentArray(data) && data.length === piece.content.length ? 'content' : undefined
}

function onlyText({ content }: ToolResultPart): string | undefined {
  const [only] = content
  return content.length === 1 && only?.type === 'text' ? only.text : undefined
}

/** Splits a stored result from its envelope. An invalid envelope is dropped: a log can contain anything. */
export function takeEnvelope(stored: StoredToolResult): { piece: ToolResultPart; envelope?: Envelope } {
  const { envelope: found, ...piece } = stored
  if (!isRecord(found)) return { piece }
  const { dataIn, ...rest } = found
  const data = dataIn === 'content' ? piece.content : dataIn === 'text' ? onlyText(piece) : undefined
  const envelope = data === undefined ? rest : { ...rest, data }
  return isEnvelope(envelope) ? { piece, envelope } : { piece }
}
