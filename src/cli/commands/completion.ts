import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { write } from '../io.js'

const shells = ['bash', 'zsh', 'fish'] as const

export const command: Command = {
  usage: ['bash|zsh|fish'],
  actions: { bash: 'Script for bash', zsh: 'Script for zsh', fish: 'Script for fish' },
  options: [],
  examples: [
    { line: 'eval "$(capstan completion bash)"', comment: 'Add this to ~/.bashrc' },
    { line: 'eval "$(capstan completion zsh)"', comment: 'Add this to ~/.zshrc, after compinit' },
    {
      line: 'capstan completion fish > ~/.config/fish/completions/capstan.fish',
      comment: 'Run once for fish',
    },
  ],
  async run(args, io, commands = []) {
    const shell = shells.find((name) => name === args.positionals[0])
    if (shell === undefined) {
      const usage = `Usage: capstan completion ${shells.join('|')}`
      throw new UsageError(`Unknown shell ${JSON.stringify(args.required(0, 'SHELL', usage))}.`, usage)
    }
    const { completionScript } = await import('../completion/script.js')
    await write(io.stdout, await completionScript(shell, commands))
    return exitCodes.done
  },
}
