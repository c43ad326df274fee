import { load } from '../../session/journal/restore.js'
import type { SessionInfo, SessionStore } from '../../store/session-store.js'
import { isEmptySession } from './empty-session.js'

/** Yields the sessions that have messages, newest first; sessions of subagents only with `subagents`. */
export async function* mainSessions(
  store: SessionStore,
  isWanted: (info: SessionInfo) => boolean,
  { subagents = false }: { readonly subagents?: boolean } = {},
): AsyncGenerator<SessionInfo, void, undefined> {
  for (const info of await store.list())
    if (isWanted(info) && (await isShown(store, info.id, subagents))) yield info
}

/** Whether a session is listed. One that cannot be read is listed too, with the error. */
async function isShown(store: SessionStore, id: string, subagents: boolean): Promise<boolean> {
  try {
    const state = await load(store, id)
    if (state === undefined || state.damage !== undefined) return true
    return !isEmptySession(state) && (subagents || state.session?.task === undefined)
  } catch {
    return true
  }
}
