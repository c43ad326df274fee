import type { FeatureContext } from '../feature/feature-context.js'
import { both, each, object, readable } from '../feature/option-check.js'
import { parseCommand } from '../feature/parse-command.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { CommandHandler, CommandSession } from './command.js'
import { type Commands, createCommands } from './commands.js'

/** A slash command as an option: the arguments of `registerCommand`. */
export type CommandOption = {
  readonly name: string
  readonly description: string
  readonly handler: CommandHandler
}

export type CommandFeatureOptions = { readonly commands?: readonly CommandOption[] }

/**
 * Validates with the code that reads the option later, so that an invalid one is rejected before the session exists.
 */
const command = readable((value) => {
  const { name, description, handler } = value as CommandOption
  createCommands().register(name, description, handler)
})

/** Answers prompts that are slash commands instead of the model. */
export const commandsFeature: SessionFeature<Commands, CommandFeatureOptions> = {
  name: 'commands',
  create: ({ options }) => {
    const commands = createCommands()
    for (const { name, description, handler } of options.commands ?? [])
      commands.register(name, description, handler)
    return commands
  },
  options: { commands: each(both(object, command)) },
  answerRequest(session, { text, verbatim }, signal) {
    if (verbatim || parseCommand(text) === undefined) return undefined
    return session.use(commandsFeature).run(text, commandSession(session), { signal })
  },
  offers: { commands: (session) => session.use(commandsFeature) },
}

/** The part of a session that slash commands can read and change. */
function commandSession(session: FeatureContext): CommandSession {
  const servers = session.service('servers')
  return {
    context: () => {
      const { provider, id } = session.models.current()
      const { usage, costUsd } = session.spending.total
      return {
        sessionId: session.sessionId,
        workspace: session.root,
        model: `${provider}/${id}`,
        historyLen: session.log.conversation.trimmed + session.log.conversation.messages.length,
        totalTokens: usage.totalTokens,
        ...omitUndefined({ totalCost: costUsd }),
        toolNames: session.tools.names(),
        mcpServers: servers?.connected() ?? [],
      }
    },
    usage: () => session.spending.total.usage,
    models: () => session.spending.total.models,
    mcpServers: async (signal) => (await servers?.list(signal)) ?? [],
    isBuiltinTool: (name) => session.isBuiltinTool(name),
    setModel: (name) => session.models.set(name),
    compact: (signal, options) => session.compact(signal, options),
    goals: session.service('goals'),
    contextUsage: (signal) => session.contextUsage(signal),
    clearHistory: () => session.log.conversation.clear(),
  }
}
