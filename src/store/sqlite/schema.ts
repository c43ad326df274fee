import { StoreError } from '../errors.js'
import type { SqlDatabase } from './driver.js'
import { integerIn } from './row.js'

/**
 * Migrates a database to the schema of this version, completely or not at all. Rejects a database of a later version,
 * and one of another program.
 */
export function prepareSchema(database: SqlDatabase, file: string): void {
  if (isCurrent(database, file)) return
  database.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have migrated it first.
    if (!isCurrent(database, file)) {
      for (const step of migrations.slice(pragma(database, 'user_version'))) database.exec(step)
      database.exec(`PRAGMA application_id = ${applicationId}`)
      database.exec(`PRAGMA user_version = ${migrations.length}`)
    }
    database.exec('COMMIT')
  } catch (thrown) {
    database.exec('ROLLBACK')
    throw thrown
  }
}

/** "CPST" in the header of the file, by which `file` and other programs identify the database. */
const applicationId = 0x43505354

function isCurrent(database: SqlDatabase, file: string): boolean {
  const version = pragma(database, 'user_version')
  const isOurs = pragma(database, 'application_id') === applicationId
  if (!isOurs && database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined)
    throw new StoreError(
      'store_failed',
      `${file} is the database of another program. Use a separate file for sessions.`,
    )
  if (isOurs && version > migrations.length)
    throw new StoreError(
      'store_future_schema',
      `The session database ${file} has schema version ${version}, and this version of Capstan supports up to ${migrations.length}. Use the version that wrote it, or a later one.`,
    )
  return isOurs && version === migrations.length
}

function pragma(database: SqlDatabase, name: 'user_version' | 'application_id'): number {
  return integerIn(database.prepare(`PRAGMA ${name}`).get(), name)
}

const recordColumns = `
  session_id TEXT NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  more INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  data_json TEXT NOT NULL,`

function shown(json: string, paths: Readonly<Record<string, string>>): string {
  return Object.entries(paths)
    .map(([column, path]) => `${column} GENERATED ALWAYS AS (json_extract(${json}, '${path}')) VIRTUAL`)
    .join(',\n  ')
}

/**
 * Each row stores its whole record in `data_json`; columns with a part of it are computed when they are read, so they
 * need no space and cannot differ from it. `seq` numbers the records of a session without gaps, over all tables; `more`
 * is the number of records of the same batch that follow; `crc` covers the record and its position. A replaced row
 * leaves its earlier version in `record_history`, which also has every change of the session itself: all tables
 * together, ordered by `seq`, are the log exactly as it was appended, and nothing is stored twice.
 *
 * Ids are unique only inside a session (hosts may count them), hence the keys in pairs. It is not enforced that a part
 * follows its message: a log stores what it is given.
 */
const firstSchema = `
CREATE TABLE chat_sessions (
  id TEXT NOT NULL PRIMARY KEY,
  opened_at INTEGER NOT NULL,
  -- What all records about the session say together.
  state_json TEXT NOT NULL DEFAULT '{}',
  ${shown('state_json', {
    schema_version: '$.schemaVersion',
    agent: '$.agent',
    workspace_root: '$.workspaceRoot',
    title: '$.title',
    model_json: '$.model',
    parent_id: '$.parentId',
    parent_message_id: '$.parentMessageId',
    permissions_json: '$.rules',
    todos_json: '$.todos',
    labels_json: '$.labels',
    created_at: '$.createdAtMs',
    updated_at: '$.updatedAtMs',
    closed_at: '$.closedAtMs',
  })}
);
CREATE TABLE chat_messages (
  ${recordColumns}
  id TEXT NOT NULL,
  ${shown('data_json', {
    run_id: '$.runId',
    role: '$.role',
    model_json: '$.model',
    usage_json: '$.usage',
    metadata_json: '$.metadata',
    created_at: '$.createdAtMs',
  })},
  PRIMARY KEY (session_id, id)
);
CREATE TABLE chat_parts (
  ${recordColumns}
  id TEXT NOT NULL,
  ${shown('data_json', {
    message_id: '$.messageId',
    '"index"': '$.index',
    type: '$.content.type',
    text: '$.content.text',
    tool_call_id: '$.content.callId',
    content_json: '$.content',
  })},
  PRIMARY KEY (session_id, id)
);
CREATE TABLE runs (
  ${recordColumns}
  id TEXT NOT NULL,
  ${shown('data_json', {
    status: '$.status',
    prompt: '$.prompt',
    error: '$.error',
    resumed_from: '$.resumedFrom',
    usage_json: '$.usage',
    created_at: '$.createdAtMs',
    updated_at: '$.updatedAtMs',
  })},
  PRIMARY KEY (session_id, id)
);
CREATE TABLE run_events (
  ${recordColumns}
  run_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  ${shown('data_json', { type: '$.event.type', event_json: '$.event', created_at: '$.timestampMs' })},
  PRIMARY KEY (session_id, run_id, sequence)
);
CREATE TABLE checkpoints (
  ${recordColumns}
  run_id TEXT NOT NULL,
  round INTEGER NOT NULL,
  ${shown('data_json', { message_id: '$.messageId', usage_json: '$.usage', created_at: '$.atMs' })},
  PRIMARY KEY (session_id, run_id, round)
);
CREATE TABLE record_history (
  ${recordColumns}
  type TEXT NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE TABLE blobs (
  session_id TEXT NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (session_id, digest)
);
-- One row per session, which stays when no process holds it (holder is null then). A fence is never used twice, also not after a deletion.
CREATE TABLE leases (
  fence INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL UNIQUE REFERENCES chat_sessions (id) ON DELETE CASCADE,
  last_seq INTEGER NOT NULL,
  -- The latest time that any of its records names.
  last_at INTEGER,
  holder TEXT,
  host TEXT NOT NULL,
  acquired_at INTEGER NOT NULL,
  -- In seconds, by the clock of the machine and not by that of the session.
  renewed_at INTEGER NOT NULL,
  process_json TEXT NOT NULL,
  pid INTEGER GENERATED ALWAYS AS (json_extract(process_json, '$.pid')) VIRTUAL
);
`

/** The id of a call has different names in calls and in results; a part in a blob has it in its stub. */
const callIds = `
ALTER TABLE chat_parts DROP COLUMN tool_call_id;
ALTER TABLE chat_parts ADD COLUMN tool_call_id GENERATED ALWAYS AS (
  CASE json_extract(data_json, '$.content.type')
    WHEN 'tool_call' THEN json_extract(data_json, '$.content.id')
    WHEN 'tool_result' THEN json_extract(data_json, '$.content.id')
    WHEN 'blob' THEN coalesce(json_extract(data_json, '$.content.stub.id'), json_extract(data_json, '$.content.stub.callId'))
    ELSE json_extract(data_json, '$.content.callId')
  END
) VIRTUAL;
ALTER TABLE chat_parts ADD COLUMN envelope_json GENERATED ALWAYS AS (
  coalesce(json_extract(data_json, '$.content.envelope'), json_extract(data_json, '$.content.stub.envelope'))
) VIRTUAL;
`

/** The steps from an empty database to the current schema; the version is the number of applied steps. */
const migrations: readonly string[] = [firstSchema, callIds]
