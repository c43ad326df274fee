import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { expiredSeconds } from '../../src/store/postgres/leases.js'
import { migrate } from '../../src/store/postgres/migrate.js'
import { createServer, findPrograms, startServer } from './postgres-server.mjs'

/** Whether tests can have a Postgres server. For `describe.skipIf`; prints why they are skipped. */
export function hasPostgres(): boolean {
  hasServer ??= process.env['CAPSTAN_TEST_POSTGRES'] !== undefined || findPrograms() !== undefined
  if (!hasServer)
    console.warn(
      'SKIPPED: the tests with Postgres. Install a server (apt-get install postgresql), or set CAPSTAN_TEST_POSTGRES to the URL of one.',
    )
  return hasServer
}

let hasServer: boolean | undefined

/** A database URL and a schema of its own for one test. */
export type TestSchema = { readonly url: string; readonly schema: string }

/**
 * Creates the tables of the store on the server that all tests of a run share: in a schema of `CAPSTAN_TEST_POSTGRES`,
 * or in a database of a private server, which is started for the first test that needs it.
 */
export async function postgresSchema(
  /** Called with what to do when it is no longer needed. A hook for several tests passes its own. */
  whenOver: (close: () => Promise<void>) => void = onTestFinished,
): Promise<TestSchema> {
  const url = await sharedServer()
  const name = `t_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  if (process.env['CAPSTAN_TEST_POSTGRES'] !== undefined) {
    await migrate(url, { schema: name })
    whenOver(async () => {
      await runSql(url, `drop schema if exists ${name}, ${name}_jobs cascade`)
    })
    return { url, schema: name }
  }
  // Copying a database takes a quarter of the processor time of creating the tables. The server is removed with all
  // that it has.
  model ??= createModel(url)
  await model
  await runSql(url, `create database ${name} template model strategy file_copy`)
  return { url: withDatabase(url, name), schema: modelSchema }
}

/** Not the default schema: with the default, code that ignored the option would pass. */
const modelSchema = 'tables'

/** The database that others are copies of. */
let model: Promise<void> | undefined

async function createModel(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Several workers come here at once; the lock ends with the connection.
    await client.query('select pg_advisory_lock(1)')
    const { rowCount } = await client.query("select 1 from pg_database where datname = 'model'")
    if (rowCount !== 0) return
    await client.query('create database draft')
    await migrate(withDatabase(url, 'draft'), { schema: modelSchema })
    await client.query('alter database draft rename to model')
  } finally {
    await client.end()
  }
}

function withDatabase(url: string, name: string): string {
  return url.replace('/postgres?', `/${name}?`)
}

/** Runs statements on a separate connection, as another program would. */
export async function runSql<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values.length === 0 ? undefined : values)).rows
  } finally {
    await client.end()
  }
}

/**
 * Makes the last heartbeat of a paused process, or of all, older by the length of a lease, so that a test need not wait
 * for its end. `test/cluster/network` does wait.
 */
export async function endLease(url: string, schema: string, node?: string): Promise<void> {
  await runSql(
    url,
    `update ${schema}.nodes set seen_at = seen_at - interval '${expiredSeconds} s' where id = coalesce($1, id)`,
    [node],
  )
}

/** The URL of the shared server. */
export async function sharedServer(): Promise<string> {
  return process.env['CAPSTAN_TEST_POSTGRES'] ?? (await ownServer()).url
}

type OwnServer = {
  readonly url: string
  /** Data of a server that never ran. */
  readonly prepared: string
}

/** The server of this test run, which is started for the first test that needs it. */
async function ownServer(): Promise<OwnServer> {
  // The parent process of this worker is the test run.
  const run = process.env['VITEST_POOL_ID'] === undefined ? process.pid : process.ppid
  const directory = join(realpathSync(tmpdir()), `capstan-postgres-${run}`)
  if (isNew(directory)) startGuard(directory, run)
  const answer = join(directory, 'answer.json')
  const deadline = Date.now() + 300_000
  while (!existsSync(answer)) {
    if (Date.now() > deadline) throw new Error('Postgres did not start in five minutes.')
    await wait(50)
  }
  const said: OwnServer | { readonly problem: string } = JSON.parse(readFileSync(answer, 'utf8'))
  if ('problem' in said) throw new Error(`Postgres did not start: ${said.problem}`)
  return said
}

function startGuard(directory: string, run: number): void {
  const guard = join(import.meta.dirname, 'postgres-guard.mjs')
  spawn(process.execPath, [guard, directory, String(run)], { detached: true, stdio: 'ignore' }).unref()
}

/** Creating a directory shows which of several workers starts the server. */
function isNew(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: 0o700 })
    return true
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') return false
    throw thrown
  }
}

/** A server for one test, which can be stopped, started and slowed down. Removed after the test. */
export async function privateServer(settings: Readonly<Record<string, string | number>> = {}) {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'capstan-postgres-'))
  const prepared =
    process.env['CAPSTAN_TEST_POSTGRES'] === undefined ? (await ownServer()).prepared : undefined
  const files = createServer(directory, settings, prepared)
  let running = await startServer(files)
  onTestFinished(async () => {
    await running.stop('immediate')
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  return {
    url: files.url,
    directory,
    /** Starts the server again, with the files of another directory if one is given. */
    async restart(how: 'fast' | 'immediate', data = files.data): Promise<void> {
      await running.stop(how)
      running = await startServer({ bin: files.bin, data })
    },
  }
}
