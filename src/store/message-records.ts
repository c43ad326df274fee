import type { AssistantContent, Message, UserContent } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { BlobPart, MessageRow, PartRow, SessionRecord } from './records.js'
import { type StoredToolResult, withEnvelope } from './stored-result.js'

/** A piece of a message. */
export type PieceOfMessage = UserContent | AssistantContent | StoredToolResult

export type MessageRecordsOptions = {
  /** The row's fields that the message itself does not tell. A compaction's message has the role of a user's. */
  readonly row: Omit<MessageRow, 'role' | 'providerId'> & { readonly role?: 'compaction' }
  readonly partId: (index: number) => string
  /** For results of tools: what each was made from, in the order of the pieces. */
  readonly envelopes?: readonly (Envelope | undefined)[] | undefined
  /** Where large pieces go (`SessionLog.writeBlob`). Without it they stand in the log. */
  readonly writeBlob?: (bytes: Uint8Array) => Promise<string>
}

/** What a piece may take in the log itself, in bytes of JSON. */
const maxInlineBytes = 64 * 1024

/** The rows of a message: itself, and behind it its pieces. Those that are large go beside the log first. */
export async function messageRecords(
  message: Message,
  { row, partId, writeBlob, envelopes }: MessageRecordsOptions,
): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [{ type: 'message', data: messageRow(message, row) }]
  const pieces: readonly PieceOfMessage[] =
    message.role === 'system' ? [{ type: 'text', text: message.content }] : message.content
  for (let index = 0; index < pieces.length; index++) {
    const plain = pieces[index] as PieceOfMessage
    const piece = plain.type === 'tool_result' ? withEnvelope(plain, envelopes?.[index]) : plain
    const content = writeBlob === undefined ? piece : await keptBeside(piece, writeBlob)
    const data: PartRow = { id: partId(index), messageId: row.id, sessionId: row.sessionId, index, content }
    records.push({ type: 'part', data })
  }
  return records
}

function messageRow(message: Message, row: MessageRecordsOptions['row']): MessageRow {
  const providerId = message.role === 'assistant' ? message.id : undefined
  return { ...row, role: row.role ?? message.role, ...(providerId !== undefined && { providerId }) }
}

async function keptBeside(
  piece: PieceOfMessage,
  writeBlob: (bytes: Uint8Array) => Promise<string>,
): Promise<PieceOfMessage | BlobPart> {
  const json = JSON.stringify(piece)
  // No character takes more than three bytes for each of its units, so most need not be encoded to know.
  if (json.length * 3 <= maxInlineBytes) return piece
  const bytes = new TextEncoder().encode(json)
  if (bytes.length <= maxInlineBytes) return piece
  const digest = await writeBlob(bytes)
  return { type: 'blob', digest, bytes: bytes.length, stub: stubOf(piece) }
}

/** The piece with every long text cut; what ties it to other messages (ids, names) is short and stays. */
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
