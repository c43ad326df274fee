import { join } from 'node:path'
import { FileSessionStore } from '../store/file/file-session-store.js'
import { MemorySessionStore } from '../store/memory-store.js'
import { postgresStoreLater } from '../store/postgres/later-store.js'
import type { SessionStore } from '../store/session-store.js'
import { SqliteSessionStore } from '../store/sqlite/sqlite-store.js'
import type { AgentConfig } from './config/index.js'

/** The session store of a configuration; undefined if it has none. */
export function configuredStore(config: AgentConfig): SessionStore | undefined {
  const { storageBackend, storageUrl, sessionsDir } = config
  const place = storageUrl ?? sessionsDir
  switch (storageBackend ?? (sessionsDir === undefined ? undefined : 'file')) {
    case 'memory':
      return new MemorySessionStore()
    case 'file':
      return place === undefined ? undefined : new FileSessionStore(place)
    case 'sqlite': {
      if (place === undefined) return undefined
      const isFile = place.endsWith('.db') || place.endsWith('.sqlite')
      return new SqliteSessionStore(isFile ? place : join(place, 'sessions.db'))
    }
    case 'postgres':
      return storageUrl === undefined ? undefined : postgresStoreLater(storageUrl)
    default:
      return undefined
  }
}
