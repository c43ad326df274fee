import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { sessionFlags } from '../setup/session-flags.js'

/** An interactive session on a directory. */
export const command: Command = {
  usage: ['[options]'],
  about: `What is typed is sent with Enter; a backslash before it, or Ctrl-J, makes a new line. Calls that no rule decides about are shown,
with what they would change, before anything happens. Ctrl-C cancels what is done, and a second one leaves. /help lists the commands.

Without a terminal every line that comes in is a prompt, and nobody is asked: see "capstan run" for scripts.`,
  options: sessionFlags,
  examples: [
    { line: 'capstan', says: 'a session on this directory' },
    { line: 'capstan --continue', says: 'goes on with the newest session of this directory' },
    { line: 'capstan --mode plan --model openai/gpt-5', says: 'looks and thinks, and changes nothing' },
  ],
  async run(args, io) {
    const [word] = args.positionals
    if (word !== undefined)
      throw new UsageError(
        `chat takes no words: ${JSON.stringify(word)}.`,
        'A prompt is given with: capstan run "…"',
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
