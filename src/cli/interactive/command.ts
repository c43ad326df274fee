import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { sessionFlags } from '../setup/session-flags.js'

/** An interactive session on a directory. */
export const command: Command = {
  usage: [''],
  options: sessionFlags,
  examples: [{ line: 'capstan', says: 'a session on this directory' }],
  async run() {
    throw new UsageError('The interactive session is not there yet.', 'Use: capstan run "PROMPT"')
  },
}
