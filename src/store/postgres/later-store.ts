import type { SessionStore } from '../session-store.js'
import type { PostgresSessionStore } from './postgres-store.js'

/** A Postgres store that is loaded on first use, because few programs with a configuration have such a store. */
export function postgresStoreLater(url: string): SessionStore {
  let loading: Promise<PostgresSessionStore> | undefined
  const load = (): Promise<PostgresSessionStore> => {
    loading ??= import('./postgres-store.js').then((module) => new module.PostgresSessionStore({ url }))
    return loading
  }
  return {
    backend: 'postgres',
    list: async () => (await load()).list(),
    read: async (sessionId) => (await load()).read(sessionId),
    countRecords: async (sessionId) => (await load()).countRecords(sessionId),
    create: async (sessionId, records, options) => (await load()).create(sessionId, records, options),
    open: async (sessionId, options) => (await load()).open(sessionId, options),
    delete: async (sessionId) => (await load()).delete(sessionId),
    rewrite: async (sessionId, edit) => (await load()).rewrite(sessionId, edit),
    readBlob: async (sessionId, digest) => (await load()).readBlob(sessionId, digest),
    mailbox: {
      post: async (sessionId, mail) => (await load()).mailbox.post(sessionId, mail),
      waiting: async (sessionId) => (await load()).mailbox.waiting(sessionId),
      take: async (sessionId, id) => (await load()).mailbox.take(sessionId, id),
    },
    now: async () => (await load()).now(),
    close: async () => (await loading)?.close(),
  }
}
