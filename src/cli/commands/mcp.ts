import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { write } from '../io.js'
import { permissionFlags, placeFlags } from '../setup/session-flags.js'

export const command: Command = {
  usage: ['[--tool NAME …]'],
  description: `The client has none of your privileges: each call is checked like a call of a model, and a call that needs a question is refused.
Standard output carries the protocol; messages go to standard error.`,
  options: [
    {
      name: 'tool',
      value: 'name',
      repeatable: true,
      summary: 'Tool to offer (default: the tools that a model sees)',
    },
    {
      name: 'drain',
      value: 'duration',
      summary: 'Time for running calls to finish after standard input has ended (default: 10s)',
    },
    ...permissionFlags,
    ...placeFlags,
  ],
  examples: [
    { line: 'capstan mcp --mode read-only', comment: 'Offer read-only access to this directory' },
    { line: 'capstan mcp --tool read --tool grep', comment: 'Offer only two tools' },
  ],
  async run(args, io) {
    const [{ withSession }, { serveMcp }] = await Promise.all([
      import('../setup/with-session.js'),
      import('../../session/serve-mcp.js'),
    ])
    const refused = new RefusedAsks()
    const tools = args.values('tool')
    const code = await withSession(
      args,
      io,
      async (session) => {
        const serving = await serveMcp(
          session,
          { input: io.stdin, output: io.stdout },
          omitUndefined({
            tools: tools.length > 0 ? tools : undefined,
            drainTimeoutMs: args.duration('drain'),
          }),
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
