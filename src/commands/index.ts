/** Slash commands: what a user can request from the session itself. */
export type { CommandContext, CommandHandler, CommandInfo, CommandSession } from './command.js'
export { CommandError } from './errors.js'
