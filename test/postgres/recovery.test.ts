/** A database that is restored to an earlier moment from a base backup and its archived log. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PostgresRunQueue } from '../../src/postgres/run-queue.js'
import { migrate } from '../../src/store/postgres/migrate.js'
import { PostgresSessionStore } from '../../src/store/postgres/postgres-store.js'
import { hasPostgres, privateServer, runSql } from '../support/postgres.js'
import { findPrograms } from '../support/postgres-server.mjs'
import { event, numbersIn, opener } from './support.js'

const minutes = 60_000
const bin = findPrograms()?.bin ?? ''
const canBackUp = existsSync(join(bin, 'pg_basebackup'))
if (!canBackUp)
  console.warn(
    'SKIPPED: the test of point-in-time recovery. It needs pg_basebackup (apt-get install postgresql).',
  )

/** The server refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}

describe.skipIf(!hasPostgres() || !canBackUp)('a database that is restored to a point in time', () => {
  it(
    'has everything up to it and nothing after; a process that still runs is refused, and a new one continues',
    async () => {
      const server = await privateServer({ wal_level: 'replica', archive_mode: 'on', max_wal_senders: 4 })
      const { directory, url } = server
      const archive = join(directory, 'archive')
      mkdirSync(archive)
      if (user.uid !== undefined) chownSync(archive, user.uid, user.gid)
      await runSql(url, `alter system set archive_command = 'cp %p ${archive}/%f'`)
      await runSql(url, 'select pg_reload_conf()')
      await migrate(url)
      const store = new PostgresSessionStore({ url })
      const queue = new PostgresRunQueue({ url })
      const submit = (runId: string) =>
        queue.submit({
          ...{ runId, sessionId: runId, prompt: 'p', lane: 'default', priority: 0, request: {}, digest: 'd' },
        })
      const log = await store.open('s', opener())
      await log.append([event(0)])
      const backup = join(directory, 'backup')
      execFileSync(
        join(bin, 'pg_basebackup'),
        ['-h', directory, '-U', 'capstan', '-D', backup, '-c', 'fast'],
        {
          ...user,
          cwd: directory,
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      )
      await log.append([event(1)])
      await submit('before')
      const [moment] = await runSql<{ now: string }>(url, 'select clock_timestamp()::text as now')
      await log.append([event(2)])
      await submit('after')
      // What is not archived yet is lost with the server: the end of this segment is.
      const [wal] = await runSql<{ name: string }>(url, 'select pg_walfile_name(pg_switch_wal()) as name')
      await expect.poll(() => existsSync(join(archive, wal?.name ?? '')), { timeout: 5 * minutes }).toBe(true)

      const recovery = [
        `restore_command = 'cp ${archive}/%f %p'`,
        `recovery_target_time = '${moment?.now}'`,
        "recovery_target_action = 'promote'",
      ]
      writeFileSync(join(backup, 'postgresql.conf'), `${recovery.join('\n')}\n`, { flag: 'a' })
      writeFileSync(join(backup, 'recovery.signal'), '')
      await server.restart('fast', backup)

      // It answers readers while it recovers, and accepts writers when it is done.
      const isRecovering = async () =>
        (await runSql<{ yes: boolean }>(url, 'select pg_is_in_recovery() as yes'))[0]?.yes
      await expect.poll(isRecovering, { timeout: 5 * minutes }).toBe(false)
      // The process has confirmed more records than the database now has.
      await expect(log.append([event(3)])).rejects.toMatchObject({
        code: 'store_failed',
        message: expect.stringContaining('restored from an earlier state'),
      })
      await Promise.allSettled([log.close(), store.close(), queue.close()])
      const later = new PostgresSessionStore({ url })
      expect(await numbersIn(later, 's')).toEqual([0, 1])
      const again = await later.open('s', opener('another process'))
      await again.append([event(2)])
      await again.close()
      expect(await numbersIn(later, 's')).toEqual([0, 1, 2])
      const runs = new PostgresRunQueue({ url })
      expect((await runs.list({})).runs.map(({ runId }) => runId)).toEqual(['before'])
      await Promise.all([later.close(), runs.close()])
    },
    20 * minutes,
  )
})
