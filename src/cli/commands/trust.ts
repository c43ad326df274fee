import { workspaceRoot } from '../../agent/workspace-root.js'
import type { Command } from '../command.js'
import { CommandLineError, UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { userDirOf } from '../setup/user-dir.js'
import { configName, confirmWorkspaceConfig, readWorkspaceConfig } from '../setup/workspace-config.js'
import { askLine } from '../terminal/ask-line.js'
import { safeText } from '../terminal/safe-text.js'

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
