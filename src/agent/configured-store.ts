import { join } from 'node:path'
import type { SessionStore } from '../store/session-store.js'
import type { AgentConfig } from './config/index.js'

/** The store that a configuration names, for sessions that bring none of their own. Loaded only when there is one. */
export async function configuredStore(config: AgentConfig): Promise<SessionStore | undefined> {
  const { storageBackend, storageUrl, sessionsDir } = config
  const place = storageUrl ?? sessionsDir
  switch (storageBackend ?? (sessionsDir === undefined ? undefined : 'file')) {
    case 'memory': {
      const { MemorySessionStore } = await import('../store/memory-store.js')
      return new MemorySessionStore()
    }
    case 'file': {
      if (place === undefined) return undefined
      const { FileSessionStore } = await import('../store/file/file-session-store.js')
      return new FileSessionStore(place)
    }
    case 'sqlite': {
      if (place === undefined) return undefined
      const { SqliteSessionStore } = await import('../store/sqlite/sqlite-store.js')
      return new SqliteSessionStore(
        place.endsWith('.db') || place.endsWith('.sqlite') ? place : join(place, 'sessions.db'),
      )
    }
    default:
      return undefined
  }
}
