import { dirname } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { messageOf } from '../../tool/errors.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { userDirOf } from '../setup/user-dir.js'
import {
  configName,
  confirmWorkspaceConfig,
  readWorkspaceConfig,
  type WorkspaceConfig,
} from '../setup/workspace-config.js'
import { askLine } from '../terminal/ask-line.js'
import { safeText } from '../terminal/safe-text.js'

/** The programs that the file would start, and whether a sandbox confines them. */
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
          ? 'not confined: it has the network and your home directory'
          : `confined: the sandbox keeps from it ${withheld}`
      return [`  ${name}: ${reach.argv.join(' ')}\n    ${how}`]
    })
    return lines.length === 0 ? [] : ['It starts these programs:', ...lines, '']
  } catch (error) {
    // A file that cannot be read now is shown whole, and fails again where it is used.
    return [`It cannot be read as a configuration: ${messageOf(error)}`, '']
  }
}

export const command: Command = {
  usage: ['[--yes]'],
  about: `A ${configName} that came with a directory could send your keys to an address of its own, or start programs. It is used only
after you have confirmed its very text; when it changes, you are asked again.`,
  options: [
    { name: 'yes', short: 'y', summary: 'do not ask: I have read the file' },
    { name: 'directory', short: 'C', value: 'dir', summary: 'the directory; this one when left out' },
  ],
  examples: [{ line: 'capstan trust', says: 'shows the file and asks' }],
  async run(args, io) {
    const place = {
      root: workspaceRoot(args.value('directory') ?? '.', io.cwd),
      userDir: userDirOf(io),
    }
    const file = await readWorkspaceConfig(place)
    if (file === undefined)
      throw new CommandLineError(`There is no ${configName} in ${place.root}.`, '"capstan init" writes one.')
    if (file.confirmed) {
      await write(io.stdout, `${file.path} is confirmed already.\n`)
      return exitCodes.done
    }
    await write(io.stdout, `${file.path}:\n\n${safeText(file.text).trimEnd()}\n\n`)
    for (const line of await serverLines(file, io)) await write(io.stdout, `${safeText(line)}\n`)
    if (!args.has('yes')) {
      if (!io.isTTY.stdin || !io.isTTY.stdout)
        throw new UsageError('Nobody can be asked here.', 'Read the file, then run: capstan trust --yes')
      const answer = await askLine('Use this configuration from now on? [y/N] ', io)
      if (answer === 'interrupted') return exitCodes.cancelled
      if (!/^y(es)?$/i.test(answer.text.trim())) {
        await write(io.stdout, 'It stays unused.\n')
        return exitCodes.incomplete
      }
    }
    await confirmWorkspaceConfig(place, file.confirmation)
    await write(io.stdout, `Confirmed: ${file.path} is used from now on, until it changes.\n`)
    return exitCodes.done
  },
}
