import { join, resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config/index.js'
import { configuredStore } from '../../agent/configured-store.js'
import { postgresStoreLater } from '../../store/postgres/later-store.js'
import type { SessionStore } from '../../store/session-store.js'
import type { Io } from '../io.js'

export type StoreWish = {
  /** `--store`: a directory, a database file (`.db`, `.sqlite`), a Postgres URL, or `none`. */
  readonly named?: string | undefined
  readonly config: AgentConfig
  readonly userDir: string
}

/**
 * Opens the session store: the flag's, else the configured one, else the user's directory. Undefined when sessions are
 * not stored.
 */
export async function openStore(
  wish: StoreWish,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<SessionStore | undefined> {
  const { named, config, userDir } = wish
  if (named === 'none') return undefined
  if (named === undefined) {
    const configured = configuredStore(config)
    if (configured !== undefined) return configured
  }
  if (named !== undefined && /^postgres(?:ql)?:\/\//.test(named)) return postgresStoreLater(named)
  const place = named === undefined ? join(userDir, 'sessions') : resolve(cwd, named)
  if (/\.(db|sqlite)$/.test(place)) {
    const { SqliteSessionStore } = await import('../../store/sqlite/sqlite-store.js')
    return new SqliteSessionStore(place)
  }
  const { FileSessionStore } = await import('../../store/file/file-session-store.js')
  return new FileSessionStore(place)
}
