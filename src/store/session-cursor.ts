import { tryOr } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import type { SessionInfo } from './session-store.js'

/** A position in a list of sessions, newest first. Pages stay correct when sessions are added or removed. */
export type SessionCursor = {
  /** Whether a session comes after the position. */
  isAfter(info: SessionInfo): boolean
}

/** Encodes the position after this session as text. */
export function sessionCursor({ updatedAtMs = 0, id }: SessionInfo): string {
  return Buffer.from(JSON.stringify({ at: updatedAtMs, id })).toString('base64url')
}

/** Parses the output of {@link sessionCursor}; undefined for any other text. */
export function readSessionCursor(cursor: string): SessionCursor | undefined {
  const { at, id } = partsOf(cursor)
  if (typeof at !== 'number' || typeof id !== 'string') return undefined
  return {
    isAfter: ({ updatedAtMs = 0, id: other }) => updatedAtMs < at || (updatedAtMs === at && other > id),
  }
}

function partsOf(cursor: string): Record<string, unknown> {
  // A client can send any text.
  const value: unknown = tryOr(() => JSON.parse(Buffer.from(cursor, 'base64url').toString()), undefined)
  return isRecord(value) ? value : {}
}
