/** Slash commands: what a person can say to the session itself. */
export type { CommandContext, CommandHandler, CommandInfo, CommandSession } from './command.js'
export { CommandError } from './errors.js'
