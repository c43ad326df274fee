import type { ToolMessage, ToolResultPart } from '../tool/completion.js'
import { isToolResultContentArray, type ToolResultContent } from '../tool/content.js'
import type { Envelope, ErrorEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { serializeToolOutput } from '../tool/serialize.js'

/** One call of a round, with its outcome. */
export type AnsweredCall = {
  readonly id: string
  readonly callId?: string | undefined
  readonly name: string
  readonly envelope: Envelope
}

/** Returns the message with the results of a round's calls, in the order of the calls. */
export function toolMessage(calls: readonly AnsweredCall[]): ToolMessage {
  // A loop instead of `map`, for the same reason as in `AnswerBuilder.finish`: many functions read the message.
  const content: ToolResultPart[] = []
  for (const call of calls) content.push(resultPart(call))
  return { role: 'tool', content }
}

/** Returns the envelopes of the calls as facts of that message, for the log. */
export function envelopesOf(calls: readonly AnsweredCall[]): { readonly envelopes: readonly Envelope[] } {
  return { envelopes: calls.map(({ envelope }) => envelope) }
}

function resultPart({ id, callId, name, envelope }: AnsweredCall): ToolResultPart {
  const content = blocksOf(envelope) ?? [{ type: 'text', text: modelText(envelope) }]
  const part: ToolResultPart =
    callId === undefined
      ? { type: 'tool_result', id, toolName: name, content }
      : { type: 'tool_result', id, callId, toolName: name, content }
  return envelope.type === 'error' && !isRejected(envelope) ? { ...part, isError: true } : part
}

/** Returns the text and image blocks of an envelope for a model; undefined when the model gets text. */
export function blocksOf(envelope: Envelope): ToolResultContent[] | undefined {
  const { metadata } = envelope
  const blocks: unknown = envelope.type === 'output' ? envelope.data : metadata['content']
  if (isToolResultContentArray(blocks) && (envelope.type === 'output' || isReplaced(envelope))) {
    const note = isReplaced(envelope) ? [] : cutNote(envelope)
    return [...blocks, ...note.map((text) => ({ type: 'text' as const, text }))]
  }
  return isReplaced(envelope) && Array.isArray(blocks) && blocks.length === 0 ? [] : undefined
}

/** Returns the text of an envelope for a model: the data or the error, and where the rest of a long output is. */
export function modelText(envelope: Envelope): string {
  // Servers refuse NUL characters or end the text there, so the symbol for NUL is sent instead.
  return plainText(envelope).replaceAll('\0', '\u2400')
}

/** The prefix of an error text that a model reads. */
export const errorPrefix = 'Error: '

function plainText(envelope: Envelope): string {
  if (envelope.type === 'error') {
    if (isReplaced(envelope)) return envelope.error_text
    const text = isRejected(envelope) ? envelope.error_text : `${errorPrefix}${envelope.error_text}`
    return [text, ...cutNote(envelope)].join('\n')
  }
  const { metadata, data } = envelope
  if (!metadata.truncated || (isReplaced(envelope) && typeof data === 'string'))
    return serializeToolOutput(data)
  return [headText(data), ...cutNote(envelope)].join('\n')
}

/** Returns a note for the model that it does not see all of an output, and where the rest is. */
function cutNote({ metadata: { truncated, output_path } }: Envelope): string[] {
  if (truncated !== true) return []
  if (output_path === undefined) return ['[The output was truncated.]']
  return [`[The output was truncated. output_path: ${oneLine(output_path)} has all of it; read it in parts.]`]
}

/**
 * Quotes a file name with control characters, so that it cannot add a line that looks like the runtime's own text.
 */
function oneLine(path: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path
}

/**
 * Returns a head that is text unchanged, followed by the other fields: as JSON, every line break would cost more
 * tokens.
 */
function headText(data: unknown): string {
  if (!isRecord(data) || typeof data['head'] !== 'string') return serializeToolOutput(data)
  const { head, ...figures } = data
  return Object.keys(figures).length === 0 ? head : `${head}\n${serializeToolOutput(figures)}`
}

/**
 * Returns whether a tool's approval policy rejected the call. Its text is used unchanged, and the tool has not
 * failed.
 */
function isRejected({ metadata }: ErrorEnvelope): boolean {
  return metadata['rejected'] === true
}

/** Returns whether middleware has replaced the result: the model then reads exactly that text. */
function isReplaced({ metadata }: Envelope): boolean {
  return metadata['replaced'] === true
}
