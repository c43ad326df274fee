/** The entry `capstan/store`: where sessions are stored. */

export * from './diff-sessions.js'
export {
  SessionLockedError,
  StoreError,
  type StoreErrorCode,
  storeErrorCodes,
} from './errors.js'
export { exportSession } from './export-session.js'
export { FileSessionStore, type FileSessionStoreOptions } from './file/file-session-store.js'
export { blobDigests, type FoldOptions, foldSession } from './fold-session.js'
export * from './import-session.js'
export { MemorySessionStore } from './memory-store.js'
export { type PrunedSession, type PruneSessionOptions, pruneSession } from './prune-session.js'
export {
  type BlobPart,
  type CheckpointRow,
  type FileChangeNote,
  type FileImage,
  type MessageRow,
  type PartRow,
  type RunEventRow,
  type RunRow,
  type SessionRecord,
  type SessionRecordType,
  type SessionRow,
  schemaVersion,
  type ToolIntent,
  type ToolQuestion,
  type ToolQuestionRefused,
} from './records.js'
export type { OpenIntent, OpenQuestion, SessionState, StoredMessage } from './session-state.js'
export * from './session-store.js'
export { SqliteSessionStore } from './sqlite/sqlite-store.js'
export type { Todo, TodoStatus } from './todo.js'
