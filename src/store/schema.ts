import { StoreError } from './errors.js'
import { type SessionRecord, schemaVersion } from './records.js'

/** Throws for a log of a later schema: its meaning is not known, so it is neither read nor extended. */
export function refuseFutureSchema(sessionId: string, record: SessionRecord): void {
  if (record.type !== 'session') return
  const { schemaVersion: found } = record.data
  if (typeof found !== 'number' || found <= schemaVersion) return
  throw new StoreError(
    'store_future_schema',
    `Session '${sessionId}' was written with schema ${found}, and this version supports schemas up to ${schemaVersion}. Open it with the version that wrote it, or a later one.`,
  )
}
