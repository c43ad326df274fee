import { randomBytes } from 'node:crypto'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { untilAborted } from '../../tool/unless-aborted.js'
import type { Args } from '../args.js'
import { type Connected, clusterKeyOf, connect, databaseIn, noClusterKey } from '../cluster/connect.js'
import { databaseFlags } from '../cluster/database-flags.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { safeLine } from '../terminal/safe-text.js'

const otherFlags = ['session', 'continue', 'agent', 'directory']

export const command: Command = {
  usage: ['[--port N] [--workspace DIR …]', '--database URL [--port N] [--workspace DIR …]'],
  description: `Serves the HTTP API of an agent until it gets SIGTERM or SIGINT. Runs that are active then can finish for a while; the others are
suspended, and the next server continues them. Every request needs the token: "Authorization: Bearer TOKEN".
With a database, the server executes nothing: it submits runs to the queue of the cluster, and "capstan worker" executes them. CAPSTAN_CLUSTER_KEY must be that
of the workers.`,
  options: [
    { name: 'port', value: 'n', summary: 'Port; 0 picks a free one (default: 4747)' },
    { name: 'host', value: 'address', summary: 'Address to listen on (default: 127.0.0.1)' },
    {
      name: 'workspace',
      value: 'dir',
      repeatable: true,
      summary: 'Directory that sessions can work in (default: the current one)',
    },
    {
      name: 'token-file',
      value: 'file',
      summary:
        'File of the token, created when absent (default: ~/.capstan/server-token). CAPSTAN_SERVER_TOKEN takes precedence',
    },
    {
      name: 'drain',
      value: 'duration',
      summary: 'Time for active runs to finish after the stop (default: 10s)',
    },
    ...databaseFlags,
    { name: 'json', summary: 'Print the address and the path of the token file as JSON' },
    ...sessionFlags.filter(({ name }) => !otherFlags.includes(name)),
  ],
  examples: [
    { line: 'capstan server', comment: 'Serve the current directory on port 4747' },
    {
      line: 'capstan server --port 0 --workspace api --workspace web',
      comment: 'Serve two workspaces on any free port',
    },
  ],
  async run(args, io) {
    const port = readPort(args, 4747)
    const [extra] = args.positionals
    if (extra !== undefined)
      throw new UsageError(
        `capstan server takes no argument, but got ${JSON.stringify(safeLine(extra, 100))}.`,
      )
    const drainMs = args.duration('drain') ?? 10_000
    const workspaces = directoriesOf(args, io)
    const place = { directory: workspaces[0] ?? '.' }
    // With a database, the sessions are stored there, so no other store is opened.
    const isApi = args.has('database') || Boolean(io.env['CAPSTAN_DATABASE_URL'])
    const prepared = await prepare(args.with(isApi ? { ...place, store: 'none' } : place), io)
    try {
      const notes = [...prepared.warnings, ...prepared.notes]
      for (const note of notes) await write(io.stderr, `${safeLine(note, 500)}\n`)
      const cluster = await clusterOf(args, io)
      try {
        return await serve(args, io, { port, drainMs, workspaces, prepared, cluster })
      } finally {
        await cluster?.close()
      }
    } finally {
      await prepared.close()
    }
  },
}

type Setup = {
  readonly port: number
  readonly drainMs: number
  readonly workspaces: readonly string[]
  readonly prepared: Awaited<ReturnType<typeof prepare>>
  /** The cluster whose workers execute the runs. */
  readonly cluster?: Connected | undefined
}

/** Connects to the database that the flags, the environment or the configuration name; undefined when none does. */
async function clusterOf(args: Args, io: Io): Promise<Connected | undefined> {
  if ((await databaseIn(args, io)) === undefined) return undefined
  const cluster = await connect(args, io)
  await write(io.stderr, 'Runs are submitted to the queue of the cluster: "capstan worker" executes them.\n')
  return cluster
}

async function serve(
  args: Args,
  io: Io,
  { port, drainMs, workspaces, prepared, cluster }: Setup,
): Promise<number> {
  const { createServer, listen } = await import('../../server/index.js')
  const tokenFile = resolve(io.cwd, args.value('token-file') ?? join(prepared.userDir, 'server-token'))
  const token = await readToken(io, tokenFile)
  const host = args.value('host') ?? '127.0.0.1'
  const { sessionStore: _, ...session } = prepared.options
  const clusterKey = cluster === undefined ? undefined : clusterKeyOf(io)
  if (cluster !== undefined && clusterKey === undefined) await write(io.stderr, `${noClusterKey}\n`)
  const server = createServer(prepared.agent, {
    token: token.value,
    workspaces,
    session,
    inspector: true,
    allowedHosts: [host, ...ownAddresses(host)],
    store: cluster?.store ?? prepared.store,
    queue: cluster?.queue,
    clusterKey,
    onError: (error) => void write(io.stderr, `error: ${safeLine(String(error), 1_000)}\n`),
  })
  const listening = await listen(server, { port, host }).catch((cause: unknown) => {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
    throw new CommandLineError(
      `Cannot listen on ${host}:${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
      isTaken
        ? 'Choose another port with --port; 0 picks a free one.'
        : 'Check --host: it must be an address of this machine.',
    )
  })
  const { url } = listening
  const place = token.file === undefined ? 'CAPSTAN_SERVER_TOKEN' : token.file
  await write(io.stderr, `The token is in ${safeLine(place, 500)}.\n`)
  const said = { url, tokenFile: token.file ?? null }
  await write(io.stdout, args.has('json') ? `${JSON.stringify(said)}\n` : `Listening on ${url}\n`)
  await untilAborted(io.signal)
  await write(io.stderr, 'Stopping.\n')
  try {
    await server.close({ drainMs })
  } finally {
    await listening.close()
  }
  return exitCodes.done
}

export function readPort(args: Args, otherwise: number): number {
  const port = args.count('port', 0) ?? otherwise
  if (port > 65_535) throw new UsageError(`--port takes a number up to 65535, not ${port}.`)
  return port
}

/** Returns the addresses of this machine that clients can use when the server listens on all of them. */
function ownAddresses(host: string): readonly string[] {
  if (host !== '0.0.0.0' && host !== '::') return []
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
}

function directoriesOf(args: Args, io: Io): readonly string[] {
  const given = args.values('workspace')
  return (given.length === 0 ? ['.'] : given).map((path) => workspaceRoot(path, io.cwd))
}

/** Returns the token of the environment, or that of the file, which is created if it does not exist. */
async function readToken(
  io: Io,
  file: string,
): Promise<{ readonly value: string; readonly file?: string | undefined }> {
  const given = io.env['CAPSTAN_SERVER_TOKEN']?.trim()
  if (given !== undefined && given !== '') return { value: checkedToken(given, 'CAPSTAN_SERVER_TOKEN') }
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    // Two servers that start at the same time must not both create a token: the second one reads that of the first.
    await writeFile(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EEXIST') throw error
  }
  const { mode } = await stat(file)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    await write(io.stderr, `warning: other users can read ${safeLine(file, 500)}. Run: chmod 600 FILE\n`)
  return { value: checkedToken((await readFile(file, 'utf8')).trim(), file), file }
}

function checkedToken(token: string, from: string): string {
  if (/^[!-~]{16,1024}$/.test(token)) return token
  throw new CommandLineError(
    `The token in ${from} cannot be used.`,
    'It must have at least 16 printable characters without spaces. Remove the file to have a new one made.',
  )
}
