import { isRecord } from '../tool/json.js'
import type { SessionInfo } from './session-store.js'

/** A place in a list of sessions, newest first: pages stay right when sessions are added or removed. */
export type SessionCursor = {
  /** Whether a session comes after the place. */
  isAfter(info: SessionInfo): boolean
}

/** The place after this session, as text. */
export function sessionCursor({ updatedAtMs = 0, id }: SessionInfo): string {
  return Buffer.from(JSON.stringify({ at: updatedAtMs, id })).toString('base64url')
}

/** Reads what {@link sessionCursor} wrote; undefined when it is something else. */
export function readSessionCursor(cursor: string): SessionCursor | undefined {
  const { at, id } = partsOf(cursor)
  if (typeof at !== 'number' || typeof id !== 'string') return undefined
  return {
    isAfter: ({ updatedAtMs = 0, id: other }) => updatedAtMs < at || (updatedAtMs === at && other > id),
  }
}

function partsOf(cursor: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return isRecord(value) ? value : {}
  } catch {
    // Anything that a client sends.
    return {}
  }
}
