import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { write } from '../io.js'
import { readDuration } from '../setup/duration.js'
import { permissionFlags, placeFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: ['[--tool NAME …]'],
  about: `Whoever is on the other side has none of your privileges: every call is judged as one of a model is, and what would have to be asked
about is refused. Standard output belongs to the protocol; everything else is on standard error.`,
  options: [
    {
      name: 'tool',
      value: 'name',
      repeatable: true,
      summary: 'a tool to offer; those that a model is shown when left out',
    },
    {
      name: 'drain',
      value: 'duration',
      summary: 'how long calls at work may go on when standard input has ended; 10s when left out',
    },
    ...permissionFlags,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan mcp --mode read-only', says: 'offers to look at this directory' },
    { line: 'capstan mcp --tool read --tool grep', says: 'two tools and no more' },
  ],
  async run(args, io) {
    const [{ withSession }, { serveMcp }] = await Promise.all([
      import('../setup/with-session.js'),
      import('../../session/serve-mcp.js'),
    ])
    const refused = new RefusedAsks()
    const tools = args.values('tool')
    const drain = args.value('drain')
    const code = await withSession(
      args,
      io,
      async (session) => {
        const serving = await serveMcp(
          session,
          { input: io.stdin, output: io.stdout },
          {
            ...(tools.length > 0 && { tools }),
            ...(drain !== undefined && { drainTimeoutMs: readDuration('drain', drain) }),
          },
        )
        const stop = (): void => void serving.close()
        io.signal.addEventListener('abort', stop, { once: true })
        await serving.ended
        io.signal.removeEventListener('abort', stop)
        return exitCodes.done
      },
      { onAsk: refused.handler },
    )
    if (refused.calls.length > 0) await write(io.stderr, `${refused.report()}\n`)
    return code
  },
}
