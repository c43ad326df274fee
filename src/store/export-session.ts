import { StoreError } from './errors.js'
import { type SessionRecord, schemaVersion } from './records.js'
import type { SessionStore } from './session-store.js'

/**
 * Exports a session as text, line by line: `{"type","data"}` like its log, the session itself first and each message
 * followed by its parts. Blobs are lines of the type `blob`, before the first line that needs them; missing blobs are
 * reported in a line of the type `note`. `importSession` reads this format.
 */
export async function* exportSession(
  store: SessionStore,
  sessionId: string,
): AsyncGenerator<string, void, undefined> {
  const stored = await store.read(sessionId)
  if (stored === undefined)
    throw new StoreError('store_not_found', `The store "${store.backend}" has no session '${sessionId}'.`)
  const { records, damage } = stored
  if (records[0]?.type !== 'session') yield line('session', { id: sessionId, schemaVersion, updatedAtMs: 0 })
  const exported = new Set<string>()
  for (const record of records) {
    for (const digest of digestsIn(record)) {
      if (exported.has(digest)) continue
      exported.add(digest)
      const bytes = await store.readBlob(sessionId, digest)
      yield bytes === undefined
        ? line('note', { missingBlob: digest })
        : line('blob', { digest, base64: Buffer.from(bytes).toString('base64') })
    }
    yield line(record.type, record.data)
  }
  if (damage !== undefined) yield line('note', { damage })
}

function line(type: string, data: unknown): string {
  return `${JSON.stringify({ type, data })}\n`
}

/** Returns the digests of the blobs that a record needs. */
function digestsIn(record: SessionRecord): string[] {
  if (record.type === 'run')
    return (record.data.content ?? []).flatMap((piece) => (piece.type === 'blob' ? [piece.digest] : []))
  if (record.type !== 'part') return []
  const { content } = record.data
  if (content.type === 'blob') return [content.digest]
  if (content.type !== 'file_change' || content.before?.kind !== 'file') return []
  return content.before.digest === undefined ? [] : [content.before.digest]
}
