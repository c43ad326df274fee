import type { SessionMail, SessionMailbox } from '../session-store.js'
import type { Database } from './database.js'
import { decodeText, encodeText } from './text.js'

/** Messages for the holders of sessions, in the table `mail`. */
export class PostgresMailbox implements SessionMailbox {
  readonly #ready: () => Promise<Database>
  readonly #schema: string

  constructor(ready: () => Promise<Database>, schema: string) {
    this.#ready = ready
    this.#schema = schema
  }

  async post(sessionId: string, mail: SessionMail & { readonly expiresAtMs: number }): Promise<boolean> {
    const database = await this.#ready()
    return database.transaction(async (run, attempt) => {
      const added = await run({
        text: `insert into ${this.#schema}.mail (session_id, id, body, expires_at) values ($1, $2, $3, $4)
          on conflict do nothing returning n`,
        values: [
          ...[encodeText(sessionId), encodeText(mail.id), encodeText(mail.body)],
          Math.trunc(mail.expiresAtMs),
        ],
      })
      // Also deletes messages that no process has taken for days: they are of no use any more.
      await run({
        text: `delete from ${this.#schema}.mail where expires_at < ${nowMs} and (is_taken or expires_at < ${nowMs} - ${untakenMs})`,
      })
      // An earlier attempt whose answer was lost may have added it.
      return added.length > 0 || attempt > 1
    })
  }

  async waiting(sessionId: string): Promise<readonly SessionMail[]> {
    const database = await this.#ready()
    const rows = await database.query<SessionMail>({
      name: 'capstan_mail',
      text: `select id, body from ${this.#schema}.mail where session_id = $1 and not is_taken order by n limit 100`,
      values: [encodeText(sessionId)],
    })
    return rows.map(({ id, body }) => ({ id: decodeText(id), body: decodeText(body) }))
  }

  async take(sessionId: string, id: string): Promise<void> {
    const database = await this.#ready()
    await database.query({
      text: `update ${this.#schema}.mail set is_taken = true, body = '' where session_id = $1 and id = $2`,
      values: [encodeText(sessionId), encodeText(id)],
    })
  }
}

const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::bigint'
const untakenMs = 7 * 86_400_000
