import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'

const shells = ['bash', 'zsh', 'fish'] as const

export const command: Command = {
  usage: ['bash|zsh|fish'],
  actions: { bash: 'for bash', zsh: 'for zsh', fish: 'for fish' },
  options: [],
  examples: [
    { line: 'eval "$(capstan completion bash)"', says: 'in ~/.bashrc' },
    { line: 'eval "$(capstan completion zsh)"', says: 'in ~/.zshrc, behind compinit' },
    { line: 'capstan completion fish > ~/.config/fish/completions/capstan.fish', says: 'once, for fish' },
  ],
  async run(args, io, commands = []) {
    const shell = shells.find((name) => name === args.positionals[0])
    if (shell === undefined)
      throw new UsageError('Which shell?', `Write: capstan completion ${shells.join('|')}`)
    const { completionScript } = await import('../completion/script.js')
    await write(io.stdout, await completionScript(shell, commands))
    return exitCodes.done
  },
}
