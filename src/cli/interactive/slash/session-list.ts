import type { SessionInfo } from '../../../store/session-store.js'
import { safeLine } from '../../terminal/safe-text.js'

/** A line for a session in a list. */
export function sessionLabel({ id, title, updatedAtMs }: SessionInfo): string {
  const when = updatedAtMs === undefined ? '' : `${timeText(updatedAtMs)}  `
  return `${when}${safeLine(title ?? '(nothing said)', 80)}  ${safeLine(id, 64)}`
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

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}
