import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodeMeanings } from '../exit-codes.js'
import { sessionFlags } from '../setup/session-flags.js'

/** The interactive session. */
export const command: Command = {
  usage: ['[options]'],
  description: `Enter sends the prompt; a backslash before Enter, or Ctrl-J, starts a new line. A call that no rule decides is shown with its effects,
and you approve or reject it. Ctrl-C cancels the run; a second Ctrl-C exits. /help lists keys and commands.

Without a terminal, each line of standard input is one prompt, and calls that need an approval are refused. For scripts, use "capstan run".`,
  options: sessionFlags,
  examples: [
    { line: 'capstan', comment: 'Start a session in this directory' },
    { line: 'capstan --continue', comment: 'Resume the newest session of this directory' },
    { line: 'capstan --mode plan --model openai/gpt-5', comment: 'Plan only: read files and change nothing' },
  ],
  exitCodes: {
    3: 'without a terminal: calls were refused because no user could be asked',
    130: exitCodeMeanings[130],
    143: exitCodeMeanings[143],
  },
  async run(args, io) {
    const [word] = args.positionals
    if (word !== undefined)
      throw new UsageError(
        `Unexpected argument ${JSON.stringify(word)}.`,
        'To send a prompt: capstan run "…"',
      )
    const prepare = async () => (await import('../setup/prepare.js')).prepare(args, io)
    if (io.isTTY.stdin && io.isTTY.stdout && io.env['TERM'] !== 'dumb') {
      const { TerminalChat } = await import('./terminal-chat.js')
      return new TerminalChat(io).run(prepare)
    }
    const { PlainChat } = await import('./plain-chat.js')
    return new PlainChat(io).run(prepare)
  },
}
