import { Writable } from 'node:stream'
import type { Place } from '../../acp/options.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { CommandLineError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { mainSessions } from '../sessions/main-sessions.js'
import { namedModel } from '../setup/choose-model.js'
import { type Prepared, prepare } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { safeLine } from '../terminal/safe-text.js'
import { packageVersion } from '../version.js'

/** Options of a session that the client sets instead. */
const otherFlags = ['session', 'continue', 'directory']

export const command: Command = {
  usage: ['[--config FILE] [--store PLACE] [--model MODEL]'],
  description: `Editors start this command and send prompts over standard input and output. The client names the directory of each session and answers
the approvals. Standard output carries the protocol; messages go to standard error. The command ends with its client.`,
  options: [
    ...sessionFlags.filter(({ name }) => !otherFlags.includes(name)),
    {
      name: 'host-methods',
      summary:
        'Answer the methods _capstan/…, which give the client the rights of a host; packages for other languages use them',
    },
  ],
  examples: [
    { line: 'capstan acp', comment: 'Serve an editor; see docs/acp.md for its settings' },
    { line: 'capstan acp --mode plan --model openai/gpt-5', comment: 'Sessions begin in the plan mode' },
  ],
  async run(args, io) {
    const [{ serveAcp }, { MemorySessionStore }] = await Promise.all([
      import('../../acp/serve-acp.js'),
      import('../../store/memory-store.js'),
    ])
    const opened: Promise<Prepared>[] = []
    const report = (message: string): void => void write(io.stderr, `${safeLine(message, 1_000)}\n`)
    const shared = new MemorySessionStore()
    const place = async (cwd: string): Promise<Place> => {
      const preparing = prepare(args.with({ directory: cwd }), io)
      opened.push(preparing)
      const prepared = await preparing.catch((error: unknown) => {
        // The client shows one text, so it contains both the failure and the hint.
        if (!(error instanceof CommandLineError) || error.hint === undefined) throw error
        throw new CommandLineError(`${error.message} ${error.hint}`)
      })
      for (const note of [...prepared.warnings, ...prepared.notes]) report(note)
      return placeOf(prepared, args, io, prepared.store ?? shared)
    }
    const serving = serveAcp({
      input: io.stdin,
      output: protocolOutput(io),
      version: packageVersion(),
      place,
      cwd: io.cwd,
      sessions: mainSessions,
      report,
      ...(args.has('host-methods') && { host: { cwd: io.cwd, env: io.env } }),
      now: () => Date.now(),
    })
    // `ended` rejects with the same error.
    const stop = (): void => void serving.close().catch(() => undefined)
    io.signal.addEventListener('abort', stop, { once: true })
    await serving.ended
    io.signal.removeEventListener('abort', stop)
    for (const preparing of opened) await (await preparing.catch(() => undefined))?.close()
    return exitCodes.done
  },
}

function placeOf(prepared: Prepared, args: Args, io: Io, store: Place['store']): Place {
  const { agent, workspace, config, model, options } = prepared
  const name = args.value('agent')
  const declared = config.providers.flatMap((provider) =>
    provider.models.map(({ id }) => `${provider.name}/${id}`),
  )
  return {
    agent,
    workspace,
    store,
    modelName: model.name,
    hasModel: model.from !== 'offline',
    models: [...new Set([model.name, ...declared])],
    resolveModel: (named) =>
      named === model.name ? model.model : namedModel(named, { env: io.env, config }).model,
    open: (more) => {
      const all = { ...options, ...more }
      return name === undefined
        ? agent.session(workspace, all)
        : agent.sessionForAgent(workspace, name, [], all)
    },
  }
}

/**
 * Reserves standard output for a protocol: from now on, other output of this process goes to standard error. Libraries
 * print warnings, and a client would read them as messages.
 */
function protocolOutput({ stdout }: Pick<Io, 'stdout'>): Writable {
  if (stdout !== process.stdout) return stdout
  const write = stdout.write.bind(stdout)
  process.stdout.write = process.stderr.write.bind(process.stderr)
  return new Writable({
    // Strings are not converted to buffers.
    decodeStrings: false,
    write: (chunk: string, _, done) => void write(chunk, done),
  })
}
