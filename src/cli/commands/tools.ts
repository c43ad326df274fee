import { runAction } from '../actions.js'
import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { permissionFlags, placeFlags } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { plainOutput, safeJson, safeLine } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'

export const command: Command = {
  usage: ['[list]', 'call TOOL [JSON | name=value …]', 'explain TOOL [JSON | name=value …]'],
  actions: {
    list: 'List the tools of a session in this directory',
    call: 'Call a tool yourself: permission rules do not apply to your own calls, all other limits do',
    explain: 'Explain why a call of the model would be allowed, need approval or be denied; runs nothing',
  },
  options: [{ name: 'json', summary: 'Print JSON' }, ...permissionFlags, ...placeFlags],
  examples: [
    { line: 'capstan tools', comment: 'List the tools' },
    { line: 'capstan tools call grep pattern=TODO', comment: 'Call one tool' },
    {
      line: `capstan tools explain bash 'command=rm -rf build' --allow 'bash(rm *)'`,
      comment: 'Explain what the rules decide about a call',
    },
  ],
  exitCodes: {
    0: 'success; explain: the call would be allowed',
    1: 'failure; explain: the call would be denied',
    3: 'explain: the user would be asked',
  },
  run: (args, io) =>
    runAction(
      {
        list: async () => listTools,
        call: async () => callTool,
        explain: async () => (await import('../tools/explain-command.js')).explainCommand,
      },
      args,
      io,
    ),
}

async function listTools(args: Args, io: Io): Promise<number> {
  const { withSession } = await import('../setup/with-session.js')
  return withSession(args, io, async (session) => {
    const definitions = session.toolDefinitions().toSorted((a, b) => (a.name < b.name ? -1 : 1))
    if (args.has('json')) {
      await write(io.stdout, definitions.map((each) => `${safeJson(each)}\n`).join(''))
      return exitCodes.done
    }
    const { bold } = colorsFor(io, 'stdout')
    const width = Math.max(...definitions.map(({ name }) => name.length))
    for (const { name, description } of definitions) {
      const about = safeLine(description.split(/(?<=\.)\s/)[0] ?? '', 300)
      const [first = '', ...rest] = wrapText(about, io.columns() - width - 2)
      const lines = [
        `${bold(name.padEnd(width))}  ${first}`,
        ...rest.map((line) => `${' '.repeat(width)}  ${line}`),
      ]
      await write(io.stdout, `${lines.join('\n')}\n`)
    }
    return exitCodes.done
  })
}

async function callTool(args: Args, io: Io): Promise<number> {
  const [{ readArguments }, { withSession }] = await Promise.all([
    import('../tools/read-arguments.js'),
    import('../setup/with-session.js'),
  ])
  const name = args.required(
    0,
    'TOOL',
    'Usage: capstan tools call TOOL. "capstan tools list" lists the tools.',
  )
  const given = readArguments(args.positionals.slice(1))
  return withSession(args, io, async (session) => {
    const { output, exitCode, envelope } = await session.tool(name, given, { signal: io.signal })
    const isError = envelope.type === 'error'
    if (args.has('json')) await write(io.stdout, `${safeJson(envelope)}\n`)
    else await write(isError ? io.stderr : io.stdout, `${plainOutput(output).trimEnd()}\n`)
    return exitCode === 0 ? exitCodes.done : exitCodes.failed
  })
}
