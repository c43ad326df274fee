import type { RestoredSession } from '../../session/journal/restore.js'
import type { Session } from '../../session/session.js'
import type { SessionStore } from '../../store/session-store.js'

/** Whether a session has no messages and no runs. A session with a title is not empty. */
export function isEmptySession({ order, runs, session }: RestoredSession): boolean {
  return order.length === 0 && runs.size === 0 && session?.title === undefined
}

/** Removes new sessions without messages, so that opening and closing the command leaves nothing in the store. */
export async function removeEmptySessions(store: SessionStore, sessions: Iterable<Session>): Promise<void> {
  for (const session of sessions) {
    if ((await session.runs()).length > 0) continue
    try {
      const stored = await store.read(session.sessionId)
      if (stored?.damage === undefined && stored?.records.every(({ type }) => type === 'session'))
        await store.delete(session.sessionId)
    } catch {
      // Another process uses the session, so it is not removed.
    }
  }
}
