import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Agent } from '../../agent/agent.js'
import type { ServerOptions } from '../../server/index.js'
import type { SessionStore } from '../../store/session-store.js'
import { tryOr } from '../../tool/errors.js'
import { CommandLineError } from '../errors.js'
import { type Io, write } from '../io.js'
import { safeLine } from '../terminal/safe-text.js'

export type InspectorSetup = Pick<ServerOptions, 'agentDirs' | 'webhooks' | 'session' | 'hostSessions'> & {
  readonly port: number
  readonly agent: Agent
  readonly workspaces: readonly string[]
  readonly store: SessionStore
}

type TerminalSetup = InspectorSetup & {
  /** Whether to start the browser of this machine. */
  readonly isOpened: boolean
  /** Prints the address and the first link. */
  print(url: string, link: string): Promise<void>
}

/** Serves the inspector on 127.0.0.1 and prints a link. In a terminal, Enter prints another one. */
export async function startInspector(
  io: Io,
  { isOpened, print, ...setup }: TerminalSetup,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { url, newLink, close } = await serveInspector(io, setup)
  const link = await newLink()
  await print(url, link)
  const isAtTerminal = io.isTTY.stdin && io.isTTY.stdout
  if (isAtTerminal && isOpened) openInBrowser(link)
  const onLine = (): void => void newLink().then((another) => write(io.stdout, `Open ${another}\n`))
  if (isAtTerminal) io.stdin.on('data', onLine)
  return {
    url,
    close: async () => {
      io.stdin.off('data', onLine)
      io.stdin.pause()
      await close()
    },
  }
}

/** The inspector of a process, on 127.0.0.1. */
export type ServedInspector = {
  readonly url: string
  /** Returns a link that signs one browser in, once. */
  newLink(): Promise<string>
  close(): Promise<void>
}

export async function serveInspector(
  io: Io,
  { port, agent, ...options }: InspectorSetup,
): Promise<ServedInspector> {
  const { createServer, listen } = await import('../../server/index.js')
  // Only this process has the token; browsers sign in with codes.
  const token = randomBytes(32).toString('base64url')
  const server = createServer(agent, {
    ...options,
    // The user of this machine can read the whole store.
    token: [{ token, id: userName(), allTenants: true }],
    inspector: true,
    // Looking at a run must not resume it.
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
  return {
    url,
    newLink: async () => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await server(new Request(`${url}/v1/inspector/codes`, { method: 'POST', headers }))
      const { path } = (await response.json()) as { readonly path: string }
      return `${url}${path}`
    },
    close: async () => {
      await server.close()
      await listening.close()
    },
  }
}

/** Starts the browser of this machine. If there is none, the user opens the printed link. */
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

function userName(): string {
  // A user id may have no entry in the user database.
  return tryOr(() => userInfo().username, 'inspector')
}
