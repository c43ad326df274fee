import { load } from '../../session/journal/restore.js'
import type { SessionInfo, SessionStore } from '../../store/session-store.js'

/** Yields the sessions that users opened, newest first: those of subagents belong to the session that started them, and are left out. */
export async function* mainSessions(
  store: SessionStore,
  isWanted: (info: SessionInfo) => boolean,
): AsyncGenerator<SessionInfo, void, undefined> {
  for (const info of await store.list())
    if (isWanted(info) && !(await isSubagentSession(store, info.id))) yield info
}

/** A session that cannot be read counts as the user's: it is listed with what is wrong with it. */
async function isSubagentSession(store: SessionStore, id: string): Promise<boolean> {
  try {
    return (await load(store, id))?.session?.task !== undefined
  } catch {
    return false
  }
}
