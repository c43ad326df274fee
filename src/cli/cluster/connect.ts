import { workspaceRoot } from '../../agent/workspace-root.js'
import { RunClient } from '../../cluster/run-client.js'
import type { PostgresRunQueue } from '../../postgres/index.js'
import type { RunQueue } from '../../run-queue/run-queue.js'
import { placeOf } from '../../store/postgres/database.js'
import type { SessionStore } from '../../store/session-store.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Args } from '../args.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { loadSettings } from '../setup/load-settings.js'
import { userDirOf } from '../setup/user-dir.js'
import { safeLine } from '../terminal/safe-text.js'

/** The database of a cluster, and how long to wait for it. */
export type ClusterDatabase = {
  readonly url: string
  readonly schema: string
  readonly maxWaitMs: number
}

/** A connection to a cluster. */
export type Connected = {
  readonly store: SessionStore
  readonly queue: RunQueue
  readonly client: RunClient
  close(): Promise<void>
}

const defaultWaitMs = 60_000
/** After this time, the user is informed that the command waits. */
const noticeAfterMs = 2_000

/** Returns the database that the flags, the environment or the configuration name. */
export async function databaseOf(args: Args, io: Io): Promise<ClusterDatabase> {
  const url = await databaseIn(args, io)
  if (url === undefined)
    throw new UsageError(
      'No database is given.',
      'Use --database postgres://…, set CAPSTAN_DATABASE_URL, or storage_backend = "postgres" and storage_url in a configuration.',
    )
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new UsageError('--database takes a URL that begins with postgres://.')
  return {
    url,
    schema: args.value('schema') ?? 'capstan',
    maxWaitMs: args.duration('wait') ?? defaultWaitMs,
  }
}

/** Connects. Fails when the database cannot be reached in time, or when the command is stopped meanwhile. */
export async function connect(args: Args, io: Io): Promise<Connected> {
  const { url, schema, maxWaitMs } = await databaseOf(args, io)
  const { PostgresRunQueue, PostgresSessionStore } = await import('../../postgres/index.js')
  const options = {
    url,
    schema,
    maxWaitMs,
    ...omitUndefined({ directUrl: io.env['CAPSTAN_DATABASE_DIRECT_URL'] }),
  }
  const queue = open(() => new PostgresRunQueue(options))
  const store = new PostgresSessionStore(options)
  const close = async (): Promise<void> => {
    await queue.close()
    await store.close()
  }
  // Closing the queue ends the waiting.
  const stop = (): void => void queue.close().catch(() => undefined)
  io.signal.addEventListener('abort', stop, { once: true })
  const notice = setTimeout(() => {
    const limit = Math.round(maxWaitMs / 1_000)
    void write(io.stderr, `Waiting up to ${limit} s for the database ${safeLine(placeOf(url))}.\n`)
  }, noticeAfterMs)
  try {
    const clusterKey = clusterKeyOf(io)
    await queue.list({ limit: 1 })
    return {
      store,
      queue,
      client: new RunClient({ store, queue, tenantId: args.value('tenant'), clusterKey }),
      close,
    }
  } catch (error) {
    await close()
    if (io.signal.aborted)
      throw new CommandLineError(
        'Stopped while waiting for the database of the cluster.',
        undefined,
        exitCodes.cancelled,
      )
    if (error instanceof CommandLineError) throw error
    throw new CommandLineError(`The database of the cluster cannot be used: ${messageOf(error)}`)
  } finally {
    clearTimeout(notice)
    io.signal.removeEventListener('abort', stop)
  }
}

/** Connects to the cluster for as long as `use` takes. */
export async function withCluster(
  args: Args,
  io: Io,
  use: (cluster: Connected) => Promise<number>,
): Promise<number> {
  const cluster = await connect(args, io)
  try {
    return await use(cluster)
  } finally {
    await cluster.close()
  }
}

/** Opens a queue. Reports a schema name that is not allowed, for which the constructor throws, as a usage error. */
function open(make: () => PostgresRunQueue): PostgresRunQueue {
  try {
    return make()
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

/** The key that signs answers to approvals. */
export function clusterKeyOf({ env }: Pick<Io, 'env'>): string | undefined {
  const key = env['CAPSTAN_CLUSTER_KEY']?.trim()
  if (key === undefined || key === '') return undefined
  if (key.length < 32)
    throw new UsageError(
      'CAPSTAN_CLUSTER_KEY must have at least 32 characters.',
      'Make one with: openssl rand -hex 32',
    )
  return key
}

/** Printed by commands that serve approvals without a key. */
export const noClusterKey =
  'CAPSTAN_CLUSTER_KEY is not set, so no other process can answer approvals. Make a key with: openssl rand -hex 32'

/** Returns the URL of the database that the flags, the environment or the configuration name. */
export async function databaseIn(args: Args, io: Io): Promise<string | undefined> {
  return (
    args.value('database') ?? (io.env['CAPSTAN_DATABASE_URL'] || undefined) ?? (await configured(args, io))
  )
}

async function configured(args: Args, io: Io): Promise<string | undefined> {
  const root = workspaceRoot('.', io.cwd)
  const { config } = await loadSettings({ root, userDir: userDirOf(io) }, io, args.value('config'))
  return config.storageBackend === 'postgres' ? config.storageUrl : undefined
}
