import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import type { Command } from '../command.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'
import { userDirOf } from '../setup/user-dir.js'
import { confirmWorkspaceConfig, readWorkspaceConfig } from '../setup/workspace-config.js'
import { colorsFor } from '../terminal/colors.js'
import { safeLine } from '../terminal/safe-text.js'

export const command: Command = {
  usage: ['[--no-agent]'],
  about:
    'Nothing that is there is written over. The configuration that it writes is confirmed at once: it says nothing until you change it.',
  options: [
    { name: 'no-agent', summary: 'without the example of an agent directory' },
    { name: 'directory', short: 'C', value: 'dir', summary: 'the directory; this one when left out' },
  ],
  examples: [{ line: 'capstan init', says: 'capstan.acl, AGENTS.md and agents/example' }],
  async run(args, io) {
    const root = workspaceRoot(args.value('directory') ?? '.', io.cwd)
    const { agentDirTemplates, configTemplate, instructionsTemplate } = await import('../init/templates.js')
    const templates = [
      configTemplate,
      instructionsTemplate,
      ...(args.has('no-agent') ? [] : agentDirTemplates),
    ]
    const { green, dim } = colorsFor(io, 'stdout')
    for (const { path, text } of templates) {
      const isNew = await writeNew(join(root, path), text)
      await write(
        io.stdout,
        isNew ? `${green('wrote')}  ${path}\n` : `${dim('kept ')}  ${path} ${dim('(it was there)')}\n`,
      )
      if (!isNew || path !== configTemplate.path) continue
      const place = { root, userDir: userDirOf(io) }
      const file = await readWorkspaceConfig(place)
      // Only what was just written: somebody may have been faster.
      if (file?.text === text) await confirmWorkspaceConfig(place, file.confirmation)
    }
    await write(
      io.stdout,
      `\nIn ${safeLine(root, 400)}:\n  capstan                       a session here\n  capstan doctor                what this machine has\n`,
    )
    if (!args.has('no-agent'))
      await write(io.stdout, '  capstan check agents/example  the example of an agent directory\n')
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
