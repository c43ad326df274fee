/** Workers whose connections go through PgBouncer in transaction mode, where it is installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hasPostgres, postgresSchema } from '../support/postgres.js'
import { minutes } from './support.js'
import { workersOn } from './workers.js'

const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  .map((directory) => join(directory, 'pgbouncer'))
  .find((path) => existsSync(path))
if (program === undefined)
  console.warn('SKIPPED: the tests with PgBouncer. Install it (apt-get install pgbouncer) to run them.')

const runs = Array.from({ length: 12 }, (_, at) => `run-${at}`)

describe.skipIf(!hasPostgres() || program === undefined)('PgBouncer in transaction mode', () => {
  it.each([
    { name: 'with a direct URL for what cannot be pooled', hasDirectUrl: true },
    { name: 'without a direct URL, when statements are not prepared', hasDirectUrl: false },
  ])(
    'carries the sessions and the queue of a cluster $name',
    async ({ hasDirectUrl }) => {
      const { url: direct, schema } = await postgresSchema()
      const pooled = { url: await startPooler(direct), schema, prepare: false }
      const connection = hasDirectUrl ? { ...pooled, directUrl: direct } : pooled
      const { client, worker, ledger } = await workersOn(connection)
      for (const slots of [4, 4]) await worker({ slots })
      const own = client()
      const submitted = await Promise.all(runs.map((name) => own.submit({ prompt: `${name} x2` })))
      for (const { runId } of submitted)
        await expect
          .poll(async () => (await own.get(runId))?.state, { timeout: 5 * minutes })
          .toBe('completed')
      expect(ledger.begun.toSorted()).toEqual(runs.flatMap((name) => [`${name}-1`, `${name}-2`]).toSorted())
    },
    10 * minutes,
  )
})

/** Starts PgBouncer with four connections to a server. Both listen on sockets in files only. Returns its URL. */
async function startPooler(serverUrl: string): Promise<string> {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'capstan-pooler-'))
  const server = new URL(serverUrl)
  const config = join(directory, 'pooler.ini')
  const target = `host=${server.searchParams.get('host') ?? server.hostname} user=${server.username}`
  writeFileSync(
    config,
    `[databases]
${server.pathname.slice(1)} = ${target} port=${server.port || 5432}
[pgbouncer]
listen_port = 5432
unix_socket_dir = ${directory}
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
`,
  )
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined) for (const path of [directory, config]) chownSync(path, user.uid, user.gid)
  chmodSync(directory, 0o711)
  const child = spawn(program ?? '', [config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (data) => {
    log += String(data)
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(directory, { recursive: true, force: true })
  })
  const deadline = Date.now() + 5 * minutes
  while (!existsSync(join(directory, '.s.PGSQL.5432'))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`PgBouncer did not start: ${log}`)
    await wait(20)
  }
  return `postgres://${server.username}@localhost${server.pathname}?host=${encodeURIComponent(directory)}`
}
