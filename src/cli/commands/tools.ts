import type { Args } from '../args.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { permissionFlags, placeFlags } from '../setup/session-flags.js'
import { colorsFor } from '../terminal/colors.js'
import { plainOutput, safeJson, safeLine } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'

const actions = {
  list: 'the tools of a session here',
  call: 'call one yourself: your own calls are not judged by rules, and are held to everything else',
  explain: 'why a model’s call would be allowed, asked about or denied; nothing is run',
} as const

export const command: Command = {
  usage: ['[list]', 'call NAME [JSON | name=value …]', 'explain NAME [JSON | name=value …]'],
  about: `"explain" ends with 0 when the call would be allowed, with 3 when somebody would have to be asked, with 1 when it is denied.`,
  actions,
  options: [{ name: 'json', summary: 'as JSON' }, ...permissionFlags, ...placeFlags],
  examples: [
    { line: 'capstan tools', says: 'what there is' },
    { line: 'capstan tools call grep pattern=TODO', says: 'one call, by hand' },
    {
      line: `capstan tools explain bash 'command=rm -rf build' --allow 'bash(rm *)'`,
      says: 'what rules would say',
    },
  ],
  async run(args, io) {
    const [action = 'list', name, ...words] = args.positionals
    if (action === 'list') return listTools(args, io)
    if (action !== 'call' && action !== 'explain')
      throw new UsageError(`There is no action ${JSON.stringify(action)}.`, 'There are: list, call, explain.')
    if (action === 'explain') {
      const { explainCommand } = await import('../tools/explain-command.js')
      return explainCommand(args.after(1), io)
    }
    if (name === undefined) throw new UsageError('Which tool?', '"capstan tools list" has them.')
    const { readArguments } = await import('../tools/read-arguments.js')
    return callOne(args, io, name, readArguments(words))
  },
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

async function callOne(args: Args, io: Io, name: string, given: Record<string, unknown>): Promise<number> {
  const { withSession } = await import('../setup/with-session.js')
  return withSession(args, io, async (session) => {
    const { output, exitCode, envelope } = await session.tool(name, given, { signal: io.signal })
    const isError = envelope.type === 'error'
    if (args.has('json')) await write(io.stdout, `${safeJson(envelope)}\n`)
    else await write(isError ? io.stderr : io.stdout, `${plainOutput(output).trimEnd()}\n`)
    return exitCode === 0 ? exitCodes.done : exitCodes.failed
  })
}
