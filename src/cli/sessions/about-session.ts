import { load } from '../../session/journal/restore.js'
import type { SessionInfo, SessionStore } from '../../store/session-store.js'
import { messageOf } from '../../tool/errors.js'
import { safeLine } from '../terminal/safe-text.js'
import { firstWords } from './message-text.js'

/** Describes a session in one line: its title, else the start of its first prompt, else why it cannot be read. */
export async function aboutSession(
  store: SessionStore | undefined,
  { id, title }: SessionInfo,
  maxLength: number,
): Promise<string> {
  if (title !== undefined) return safeLine(title, maxLength)
  try {
    const state = store === undefined ? undefined : await load(store, id)
    return firstWords(state?.messages.map(({ message }) => message) ?? [], maxLength) || '(no messages)'
  } catch (error) {
    return `(${safeLine(messageOf(error), maxLength)})`
  }
}
