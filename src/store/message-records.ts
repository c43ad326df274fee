import type { AssistantContent, Message, UserContent } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import { maxJsonLength } from '../tool/json-length.js'
import type { BlobPart, MessageRow, PartRow, SessionRecord } from './records.js'
import { type StoredToolResult, withEnvelope } from './stored-result.js'

/** One piece of a message's content. */
export type PieceOfMessage = UserContent | AssistantContent | StoredToolResult

export type MessageRecordsOptions = {
  /** The fields of the row that are not in the message itself. The message of a compaction has the role `user`. */
  readonly row: Omit<MessageRow, 'role' | 'providerId'> & { readonly role?: 'compaction' }
  readonly partId: (index: number) => string
  /** For tool results: the envelope of each, in the order of the pieces. */
  readonly envelopes?: readonly (Envelope | undefined)[] | undefined
  /** Stores large pieces (`SessionLog.writeBlob`). Absent: they are stored in the log. */
  readonly writeBlob?: (bytes: Uint8Array) => Promise<string>
  /** Redacts a large piece before it is stored as a blob. The caller redacts the records. */
  readonly clean?: Clean | undefined
}

type Clean = <Value>(value: Value) => Value

/** The maximum size of a piece in the log itself, in bytes of JSON. */
const maxInlineBytes = 64 * 1024

/**
 * Returns the rows of a message: the message row, then its parts. Large parts are stored as blobs first; without them
 * the result is returned synchronously.
 */
export function messageRecords(
  message: Message,
  { row, partId, writeBlob, clean, envelopes }: MessageRecordsOptions,
): SessionRecord[] | Promise<SessionRecord[]> {
  const plain: readonly PieceOfMessage[] =
    message.role === 'system' ? [{ type: 'text', text: message.content }] : message.content
  const pieces = plain.map((piece, index) =>
    piece.type === 'tool_result' ? withEnvelope(piece, envelopes?.[index]) : piece,
  )
  const recordsOf = (contents: readonly PartRow['content'][]): SessionRecord[] => [
    { type: 'message', data: messageRow(message, row) },
    ...contents.map((content, index): SessionRecord => {
      const data = { id: partId(index), messageId: row.id, sessionId: row.sessionId, index, content }
      return { type: 'part', data }
    }),
  ]
  if (writeBlob === undefined) return recordsOf(pieces)
  const inLog = pieces.map((piece) => blobIfLarge(piece, writeBlob, clean))
  return inLog.some((piece) => piece instanceof Promise)
    ? Promise.all(inLog).then(recordsOf)
    : recordsOf(inLog as PieceOfMessage[])
}

function messageRow(message: Message, row: MessageRecordsOptions['row']): MessageRow {
  const providerId = message.role === 'assistant' ? message.id : undefined
  const role = row.role ?? message.role
  return providerId === undefined ? { ...row, role } : { ...row, role, providerId }
}

/**
 * Stores a large part as a blob, and returns what the log contains instead. Returns synchronously when it is not large.
 */
export function blobIfLarge<Piece extends PieceOfMessage>(
  piece: Piece,
  writeBlob: (bytes: Uint8Array) => Promise<string>,
  clean?: Clean,
): Piece | Promise<BlobPart> {
  // A UTF-16 unit takes at most three bytes, so most parts need not be serialized or encoded to determine their size.
  if (maxJsonLength(piece) * 3 <= maxInlineBytes) return piece
  const json = JSON.stringify(piece)
  if (json.length * 3 <= maxInlineBytes) return piece
  const cleaned = clean?.(piece) ?? piece
  const bytes = new TextEncoder().encode(cleaned === piece ? json : JSON.stringify(cleaned))
  if (bytes.length <= maxInlineBytes) return cleaned
  return storedAsBlob(cleaned, bytes, writeBlob)
}

async function storedAsBlob(
  piece: PieceOfMessage,
  bytes: Uint8Array,
  writeBlob: (bytes: Uint8Array) => Promise<string>,
): Promise<BlobPart> {
  const digest = await writeBlob(bytes)
  return { type: 'blob', digest, bytes: bytes.length, stub: stubOf(piece) }
}

/** Returns the part with every long text cut; references to other messages (ids, names) are short and stay complete. */
function stubOf(piece: PieceOfMessage): PieceOfMessage {
  return JSON.parse(JSON.stringify(piece), (_key, value: unknown) =>
    typeof value === 'string' && value.length > maxStubLength
      ? `${value.slice(0, maxStubLength)}… [${value.length - maxStubLength} more characters]`
      : Array.isArray(value) && value.length > maxStubEntries
        ? value.slice(0, maxStubEntries)
        : value,
  ) as PieceOfMessage
}

const maxStubLength = 500
const maxStubEntries = 20
