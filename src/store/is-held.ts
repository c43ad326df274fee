import { SessionLockedError } from './errors.js'
import type { SessionStore } from './session-store.js'

/** Returns whether a live process has the lease of a session. Acquires and releases the lease to find out. */
export async function isHeld(store: SessionStore, sessionId: string, now: () => number): Promise<boolean> {
  try {
    const log = await store.open(sessionId, { holder: 'a reader', now })
    await log.close()
    return false
  } catch (error) {
    if (error instanceof SessionLockedError) return true
    throw error
  }
}
