import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { SessionStore } from '../../store/session-store.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { safeLine } from '../terminal/safe-text.js'
import { readPort, untilStopped } from './server.js'

const otherFlags = ['session', 'continue', 'agent']

export const command: Command = {
  usage: ['[--all] [--port N] [--no-open]'],
  description: `Serves the inspector on 127.0.0.1 until it gets SIGTERM or SIGINT: live and saved sessions of this directory, the verdict on each call and
the rule that decided, approvals and questions, usage, and file changes. The link that it prints signs one browser in, once, within 60 seconds. Press
Enter for another one.`,
  options: [
    { name: 'all', summary: 'Show the sessions of every directory' },
    { name: 'port', value: 'n', summary: 'The port (default: any free one)' },
    { name: 'no-open', summary: 'Print the link, and do not open it' },
    { name: 'json', summary: 'Print the address and the link as JSON' },
    ...sessionFlags.filter(({ name }) => !otherFlags.includes(name)),
  ],
  examples: [
    { line: 'capstan inspect', comment: 'Show the sessions of this directory' },
    { line: 'capstan inspect --all --no-open', comment: 'Show all sessions, and only print the link' },
  ],
  async run(args, io) {
    const port = readPort(args, 0)
    const [extra] = args.positionals
    if (extra !== undefined)
      throw new UsageError(
        `capstan inspect takes no argument, but got ${JSON.stringify(safeLine(extra, 100))}.`,
      )
    const prepared = await prepare(args, io)
    try {
      for (const note of prepared.warnings) await write(io.stderr, `${safeLine(note, 500)}\n`)
      if (prepared.store === undefined)
        throw new UsageError('This command needs a session store.', 'Remove --store none.')
      const workspaces = args.has('all')
        ? await workspacesIn(prepared.store, prepared.workspace)
        : [prepared.workspace]
      return await serve(args, io, { port, workspaces, prepared, store: prepared.store })
    } finally {
      await prepared.close()
    }
  },
}

type Setup = {
  readonly port: number
  readonly workspaces: readonly string[]
  readonly store: SessionStore
  readonly prepared: Awaited<ReturnType<typeof prepare>>
}

async function serve(args: Args, io: Io, { port, workspaces, store, prepared }: Setup): Promise<number> {
  const { createServer, listen } = await import('../../server/index.js')
  // Known to this process alone: browsers sign in with codes.
  const token = randomBytes(32).toString('base64url')
  const { sessionStore: _, ...session } = prepared.options
  const server = createServer(prepared.agent, {
    token: [{ token, id: userName() }],
    workspaces,
    session,
    store,
    inspector: true,
    // To look at a run must not continue it.
    resumeRuns: false,
    onError: (error) => void write(io.stderr, `error: ${safeLine(String(error), 1_000)}\n`),
  })
  const listening = await listen(server, { port }).catch((cause: unknown) => {
    throw new CommandLineError(
      `Cannot listen on port ${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
      'Choose another port with --port, or leave it out.',
    )
  })
  const { url } = listening
  const newLink = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await server(new Request(`${url}/v1/inspector/codes`, { method: 'POST', headers }))
    const { path } = (await response.json()) as { readonly path: string }
    return `${url}${path}`
  }
  const link = await newLink()
  await write(io.stdout, args.has('json') ? `${JSON.stringify({ url, link })}\n` : `Open ${link}\n`)
  const isAtTerminal = io.isTTY.stdin && io.isTTY.stdout
  if (isAtTerminal && !args.has('no-open') && !args.has('json')) openInBrowser(link)
  const onLine = (): void => void newLink().then((another) => write(io.stdout, `Open ${another}\n`))
  if (isAtTerminal) io.stdin.on('data', onLine)
  await untilStopped(io.signal)
  io.stdin.off('data', onLine)
  io.stdin.pause()
  await server.close()
  await listening.close()
  return exitCodes.done
}

/** Starts the browser of this machine. Without one, the user opens the printed link. */
function openInBrowser(link: string): void {
  const [file, ...args] =
    process.platform === 'darwin'
      ? ['open', link]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', link]
        : ['xdg-open', link]
  const child = spawn(file ?? '', args, { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}

/** The directories of all sessions that still exist, that of the command first. */
async function workspacesIn(store: SessionStore, own: string): Promise<string[]> {
  const all = (await store.list()).flatMap(({ workspaceRoot }) => workspaceRoot ?? [])
  return [own, ...new Set(all.filter((path) => path !== own && isDirectory(path)))]
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without an entry in the list of users.
    return 'inspector'
  }
}
