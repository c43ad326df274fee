import type { CommandSession } from '../commands/index.js'
import { compactNow } from './compact.js'
import type { SessionCore } from './core.js'
import { serverCounts, serversNow } from './parts/mcp.js'

/** What slash commands see of a session, and what they may do to it. */
export function commandSession(core: SessionCore): CommandSession {
  return {
    context: () => {
      const { provider, id } = core.model()
      return {
        sessionId: core.parts.sessionId,
        workspace: core.parts.root,
        model: `${provider}/${id}`,
        historyLen: core.conversation.messages.length,
        totalTokens: core.usage.totalTokens,
        ...(core.spending.costUsd !== undefined && { totalCost: core.spending.costUsd }),
        toolNames: core.shelf.names(),
        mcpServers: serverCounts(core),
      }
    },
    usage: () => core.usage,
    models: () => core.spending.models,
    mcpServers: (signal) => serversNow(core, signal),
    isBuiltinTool: (name) => core.isBuiltinTool(name),
    setModel: (name) => core.setModel(name),
    compact: (signal) => compactNow(core, signal),
    clearHistory: () => core.conversation.clear(),
  }
}
