import type { ToolMessage, ToolResultPart } from '../tool/completion.js'
import { isToolResultContentArray, type ToolResultContent } from '../tool/content.js'
import type { Envelope, ErrorEnvelope } from '../tool/envelope.js'
import { isRecord } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
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
  // Not by `map`, as in `AnswerBuilder.finish`: many functions read the message.
  const content: ToolResultPart[] = []
  for (const call of calls) content.push(resultPart(call))
  return { role: 'tool', content }
}

/** Returns the envelopes of the calls as facts of that message, for the log. */
export function envelopesOf(calls: readonly AnsweredCall[]): { readonly envelopes: readonly Envelope[] } {
  return { envelopes: calls.map(({ envelope }) => envelope) }
}

function resultPart({ id, callId, name, envelope }: AnsweredCall): ToolResultPart {
  return {
    type: 'tool_result',
    id,
    ...omitUndefined({ callId }),
    toolName: name,
    content: blocksOf(envelope) ?? [{ type: 'text', text: modelText(envelope) }],
    ...(envelope.type === 'error' && !isRejected(envelope) && { isError: true }),
  }
}

/** The text and image blocks that a model gets of an envelope; undefined when it gets text. */
export function blocksOf(envelope: Envelope): ToolResultContent[] | undefined {
  const { metadata } = envelope
  const blocks: unknown = envelope.type === 'output' ? envelope.data : metadata['content']
  if (isToolResultContentArray(blocks) && (envelope.type === 'output' || isReplaced(envelope))) {
    const note = isReplaced(envelope) ? [] : cutNote(envelope)
    return [...blocks, ...note.map((text) => ({ type: 'text' as const, text }))]
  }
  return isReplaced(envelope) && Array.isArray(blocks) && blocks.length === 0 ? [] : undefined
}

/** An envelope in the words that a model gets: the data or the error, and where the rest of a long output is. */
export function modelText(envelope: Envelope): string {
  // Servers refuse the sign of zero, or end the text there; its picture is sent instead.
  return plainText(envelope).replaceAll('\0', '\u2400')
}

/** What a model reads before the words of a failure. */
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

/** The name of a file is not the runtime's own words: it cannot begin a line of its own. */
function oneLine(path: string): string {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path
}

/** Returns a head that is text as text, with the figures after it: as JSON every line break would cost more. */
function headText(data: unknown): string {
  if (!isRecord(data) || typeof data['head'] !== 'string') return serializeToolOutput(data)
  const { head, ...figures } = data
  return Object.keys(figures).length === 0 ? head : `${head}\n${serializeToolOutput(figures)}`
}

/** A tool's own policy has its own words for a no: they stand as they are, and the tool has not failed. */
function isRejected({ metadata }: ErrorEnvelope): boolean {
  return metadata['rejected'] === true
}

/** Middleware has replaced the result: the model reads exactly what it returned. */
function isReplaced({ metadata }: Envelope): boolean {
  return metadata['replaced'] === true
}
