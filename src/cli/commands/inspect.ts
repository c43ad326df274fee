import { statSync } from 'node:fs'
import type { SessionStore } from '../../store/session-store.js'
import { untilAborted } from '../../tool/unless-aborted.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { startInspector } from '../inspector/start-inspector.js'
import { write } from '../io.js'
import { prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { safeLine } from '../terminal/safe-text.js'
import { readPort } from './server.js'

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
      const { agent, store, workspace, options } = prepared
      if (store === undefined)
        throw new UsageError('This command needs a session store.', 'Remove --store none.')
      const workspaces = args.has('all') ? await workspacesIn(store, workspace) : [workspace]
      const { sessionStore: _, ...session } = options
      const inspector = await startInspector(io, {
        ...{ port, workspaces, store, session, agent },
        isOpened: !args.has('no-open') && !args.has('json'),
        print: (url, link) =>
          write(io.stdout, args.has('json') ? `${JSON.stringify({ url, link })}\n` : `Open ${link}\n`),
      })
      await untilAborted(io.signal)
      await inspector.close()
      return exitCodes.done
    } finally {
      await prepared.close()
    }
  },
}

/** Returns the existing directories of all sessions, with that of the command first. */
async function workspacesIn(store: SessionStore, own: string): Promise<string[]> {
  const all = (await store.list()).flatMap(({ workspaceRoot }) => workspaceRoot ?? [])
  return [own, ...new Set(all.filter((path) => path !== own && isDirectory(path)))]
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
