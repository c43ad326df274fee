import type { SessionInfo, SessionStore } from '../../../store/session-store.js'
import { aboutSession, timeText } from '../../sessions/about-session.js'
import { safeLine } from '../../terminal/safe-text.js'

/** One line about a session: its time, its title, and the start of its id. */
export async function sessionLabel(store: SessionStore | undefined, info: SessionInfo): Promise<string> {
  const { id, updatedAtMs } = info
  const when = updatedAtMs === undefined ? '' : `${timeText(updatedAtMs)}  `
  // A generated id is shortened; one that the user chose is not.
  const shortId = /^[\da-f]{8}-[\da-f-]{27}$/.test(id) ? id.slice(0, 8) : safeLine(id, 64)
  return `${when}${await aboutSession(store, info, 60)}  (${shortId})`
}

/** Finds a session by its number in the list, its id, or the start of its id. */
export function findListed(sessions: readonly SessionInfo[], text: string): SessionInfo | undefined {
  const exact = sessions.find(({ id }) => id === text)
  if (exact !== undefined) return exact
  const numbered = /^\d{1,3}$/.test(text) ? sessions[Number(text) - 1] : undefined
  if (numbered !== undefined) return numbered
  const matching = text.length < 4 ? [] : sessions.filter(({ id }) => id.startsWith(text))
  return matching.length === 1 ? matching[0] : undefined
}
