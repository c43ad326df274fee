import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { directoryFlag } from '../setup/session-flags.js'
import { configPlaceOf, confirmWorkspaceConfig, readWorkspaceConfig } from '../setup/workspace-config.js'
import { colorsFor } from '../terminal/colors.js'
import { safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['[--no-agent]'],
  description:
    'Existing files are not overwritten. The new configuration is confirmed already: it sets nothing until you edit it.',
  options: [{ name: 'no-agent', summary: 'Do not write the example agent directory' }, directoryFlag],
  examples: [{ line: 'capstan init', comment: 'Write capstan.acl, AGENTS.md and agents/example' }],
  async run(args, io) {
    const place = configPlaceOf(args, io)
    const { agentDirTemplates, configTemplate, instructionsTemplate } = await import('../init/templates.js')
    const templates = [
      configTemplate,
      instructionsTemplate,
      ...(args.has('no-agent') ? [] : agentDirTemplates),
    ]
    const { green, dim } = colorsFor(io, 'stdout')
    for (const { path, text } of templates) {
      const isNew = await writeNew(join(place.root, path), text)
      await write(
        io.stdout,
        isNew ? `${green('wrote')}    ${path}\n` : `${dim('skipped')}  ${path} ${dim('(it exists)')}\n`,
      )
      if (!isNew || path !== configTemplate.path) continue
      const file = await readWorkspaceConfig(place)
      // Confirms only the text that was just written, because another process can have changed the file.
      if (file?.text === text) await confirmWorkspaceConfig(place, file.confirmation)
    }
    await write(
      io.stdout,
      `\nNext steps in ${safeLine(place.root, 400)}:\n  capstan                       Start an interactive session\n  capstan doctor                Check this machine\n`,
    )
    if (!args.has('no-agent'))
      await write(io.stdout, '  capstan check agents/example  Check the example agent directory\n')
    return exitCodes.done
  },
}

async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
