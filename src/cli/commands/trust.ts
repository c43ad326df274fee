import { dirname } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodeMeanings, exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { directoryFlag } from '../setup/session-flags.js'
import {
  configName,
  configPlaceOf,
  confirmWorkspaceConfig,
  readWorkspaceConfig,
  type WorkspaceConfig,
} from '../setup/workspace-config.js'
import { askLine } from '../terminal/ask-line.js'
import { safeText } from '../terminal/safe-text.js'

/** Describes the programs that the file would start, and whether a sandbox confines them. */
async function serverLines({ path, text }: WorkspaceConfig, io: Io): Promise<string[]> {
  const [{ loadConfig }, { readServer }, { withheldFrom }] = await Promise.all([
    import('../../agent/config/index.js'),
    import('../../mcp/server-options.js'),
    import('../../mcp/describe-failure.js'),
  ])
  try {
    const { config } = await loadConfig(path, { env: io.env, cwd: dirname(path), readFile: async () => text })
    const lines = config.mcpServers.flatMap((given) => {
      const { name, reach } = readServer(given)
      if (reach.by === 'http') return []
      const withheld = withheldFrom(reach)
      const how =
        withheld === undefined
          ? 'not confined: it can use the network and your home directory'
          : `confined: the sandbox denies it ${withheld}`
      return [`  ${name}: ${reach.argv.join(' ')}\n    ${how}`]
    })
    return lines.length === 0 ? [] : ['The configuration starts these programs:', ...lines, '']
  } catch (error) {
    // The file is still shown in full. The error is reported again when the configuration is used.
    return [`The file is not a valid configuration: ${messageOf(error)}`, '']
  }
}

export const command: Command = {
  usage: ['[--yes]'],
  description: `A ${configName} that came with a directory can send your API keys to another server, or start programs. It is ignored until you confirm
its exact text. If it changes, confirm it again.`,
  options: [
    { name: 'yes', short: 'y', summary: 'Confirm without a question: I have read the file' },
    directoryFlag,
  ],
  examples: [{ line: 'capstan trust', comment: 'Show the file and ask for confirmation' }],
  exitCodes: {
    0: 'confirmed',
    1: 'the directory has no configuration',
    3: 'not confirmed',
    130: exitCodeMeanings[130],
  },
  async run(args, io) {
    const place = configPlaceOf(args, io)
    const file = await readWorkspaceConfig(place)
    if (file === undefined)
      throw new CommandLineError(`No ${configName} in ${place.root}.`, 'Write one with "capstan init".')
    if (file.confirmed) {
      await write(io.stdout, `${file.path} is already confirmed.\n`)
      return exitCodes.done
    }
    await write(io.stdout, `${file.path}:\n\n${safeText(file.text).trimEnd()}\n\n`)
    for (const line of await serverLines(file, io)) await write(io.stdout, `${safeText(line)}\n`)
    if (!args.has('yes')) {
      if (!io.isTTY.stdin || !io.isTTY.stdout)
        throw new UsageError('Confirmation needs a terminal.', 'Read the file, then run: capstan trust --yes')
      const answer = await askLine('Use this configuration from now on? [y/N] ', io)
      if (answer === 'interrupted') return exitCodes.cancelled
      if (!/^y(es)?$/i.test(answer.text.trim())) {
        await write(io.stdout, 'Not confirmed: the file is ignored.\n')
        return exitCodes.incomplete
      }
    }
    await confirmWorkspaceConfig(place, file.confirmation)
    await write(io.stdout, `Confirmed: ${file.path} is used until it changes.\n`)
    return exitCodes.done
  },
}
