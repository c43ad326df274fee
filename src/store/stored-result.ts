import type { ToolResultPart } from '../tool/completion.js'
import { isToolResultContentArray } from '../tool/content.js'
import { type Envelope, isEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'

/**
 * The result of a call as a log has it: what the model was told (`content`), and the envelope that this was made from:
 * `{ type, data or error_text, metadata }`. Older logs have no envelope.
 */
export type StoredToolResult = ToolResultPart & {
  /**
   * In place of `data`, `dataIn` says that the data is the `content` itself, or the text of its one part: images and long texts are not
   * kept twice.
   */
  readonly envelope?: object
}

/** From this length on, text that is data and content alike is kept once. */
const longText = 4 * 1024

/** A result with its envelope, to be written down. */
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

/** A result that was read, apart from its envelope. An envelope that is none is left out: a log can say anything. */
export function takeEnvelope(stored: StoredToolResult): { piece: ToolResultPart; envelope?: Envelope } {
  const { envelope: found, ...piece } = stored
  if (!isRecord(found)) return { piece }
  const { dataIn, ...rest } = found
  const data = dataIn === 'content' ? piece.content : dataIn === 'text' ? onlyText(piece) : undefined
  const envelope = data === undefined ? rest : { ...rest, data }
  return isEnvelope(envelope) ? { piece, envelope } : { piece }
}
