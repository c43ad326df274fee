import type { SessionInfo, SessionStore } from '../../../store/session-store.js'
import { aboutSession, timeText } from '../../sessions/about-session.js'
import { safeLine } from '../../terminal/safe-text.js'

/** A line for a session in a list: when, what it is about, and the beginning of its id. */
export async function sessionLabel(store: SessionStore | undefined, info: SessionInfo): Promise<string> {
  const { id, updatedAtMs } = info
  const when = updatedAtMs === undefined ? '' : `${timeText(updatedAtMs)}  `
  // The beginning of an id that nobody chose will do.
  const shortId = /^[\da-f]{8}-[\da-f-]{27}$/.test(id) ? id.slice(0, 8) : safeLine(id, 64)
  return `${when}${await aboutSession(store, info, 60)}  (${shortId})`
}

/** The session that is meant: by its number in the list, its id, or how the id begins. */
export function sessionMeant(sessions: readonly SessionInfo[], words: string): SessionInfo | undefined {
  const exact = sessions.find(({ id }) => id === words)
  if (exact !== undefined) return exact
  const numbered = /^\d{1,3}$/.test(words) ? sessions[Number(words) - 1] : undefined
  if (numbered !== undefined) return numbered
  const begun = words.length < 4 ? [] : sessions.filter(({ id }) => id.startsWith(words))
  return begun.length === 1 ? begun[0] : undefined
}
