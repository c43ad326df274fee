import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { able, type Check, each, fields, is, object, readable } from '../feature/option-check.js'
import { parseCommand } from '../feature/parse-command.js'
import type { RunRequest } from '../feature/run-request.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { isRecord } from '../tool/json.js'
import { visibleText } from '../toolbox/untrusted-text.js'
import { serverLabel } from './names.js'
import { listServers, readServer } from './server-options.js'
import { type McpFeatureOptions, type McpSession, type McpSetup, SessionServers } from './session-servers.js'

/**
 * Validates with the code that reads the entry later, so that an invalid entry is rejected before the session exists.
 */
const server = readable((value) => readServer(value))
const servers: Check = (value) => {
  if (Array.isArray(value)) return each(server)(value)
  if (!isRecord(value)) return object(value)
  for (const [name, given] of Object.entries(value)) {
    const problem = isRecord(given) ? server({ ...given, name }) : object(given)
    if (problem !== undefined) return problem.replace('%', `%.${name}`)
  }
  return undefined
}
const signIn = fields({ store: able('load', 'save', 'remove'), authorize: is('function') })

/** Adds the tools and prompts of MCP servers to a session. Nothing is loaded before a server is used. */
export const mcpFeature: SessionFeature<SessionServers, McpFeatureOptions, McpSetup> = {
  name: 'mcp',
  create: (session) => new SessionServers(session),
  close: (state) => state.close(),
  options: { mcpServers: servers, mcp: fields({ sampling: is('function'), signIn }) },
  async bringTool(session, name, signal) {
    if (name.startsWith('mcp__')) await prepareServers(session, signal)
  },
  resolveTool: (session, name) =>
    name.startsWith('mcp__') ? session.use(mcpFeature).awaited(name) : undefined,
  opened(session) {
    // Tools of servers that are known already are offered from the start.
    if (session.setup.knownServers !== undefined) session.use(mcpFeature)
  },
  promptSection: serversSection,
  delaysPrompt: ({ options, setup }) => options.mcpServers !== undefined || setup.mcpServers !== undefined,
  expandRequest(session, request, signal) {
    if (request.verbatim) return undefined
    const command = parseCommand(request.text)
    return command?.name.startsWith('mcp__') ? withServerPrompt(session, request, command, signal) : undefined
  },
  /** Connects configured servers, retries lost ones, and updates the tools that changed. */
  beforeModel: prepareServers,
  offers: {
    servers: (session) => ({
      connected: () =>
        (session.peek(mcpFeature)?.status() ?? []).flatMap(({ name, toolCount, connected }) =>
          connected ? [{ name, toolCount }] : [],
        ),
      list: async (signal) => {
        await prepareServers(session, signal)
        return session.peek(mcpFeature)?.status() ?? []
      },
    }),
  },
}

async function prepareServers(session: McpSession, signal: AbortSignal): Promise<void> {
  if (session.peek(mcpFeature) !== undefined || mayHaveServers(session))
    await session.use(mcpFeature).prepare(signal)
}

/** Replaces a command that names a prompt of a server by that prompt. */
async function withServerPrompt(
  session: McpSession,
  request: RunRequest,
  { name, args }: { readonly name: string; readonly args: string },
  signal: AbortSignal,
): Promise<RunRequest> {
  await prepareServers(session, signal)
  const text = await session.peek(mcpFeature)?.promptText(name, args, signal)
  if (text === undefined) return request
  const [, ...attachments] = request.message?.content ?? []
  return {
    ...request,
    message: { role: 'user', content: [{ type: 'text', text }, ...attachments] },
    // Text of a server is text for the model, never a command.
    verbatim: true,
  }
}

/** The host's descriptions of its servers, for the model. The section stays the same for the whole session. */
function serversSection(session: McpSession): string | undefined {
  const { options, setup } = session
  const described = [...listServers(options.mcpServers), ...(setup.mcpServers ?? [])].flatMap(descriptionIn)
  const lines = new Map([...described].reverse())
  for (const { label, description } of session.peek(mcpFeature)?.specs() ?? [])
    if (description !== undefined) lines.set(label, description)
  if (lines.size === 0) return undefined
  const shown = [...lines].map(([label, text]) => `- mcp__${label}__*: ${visibleText(text).slice(0, 4_000)}`)
  return `# Tools of MCP servers\n${shown.join('\n')}`
}

/** The options were validated before: a server without a name has no description either. */
function descriptionIn(given: object): [string, string][] {
  const { name, description, enabled } = given as Readonly<Record<string, unknown>>
  const label = typeof name === 'string' ? serverLabel(name) : undefined
  if (label === undefined || enabled === false || typeof description !== 'string') return []
  return description.trim() === '' ? [] : [[label, description.trim()]]
}

function mayHaveServers({ options, setup, parent, root }: McpSession): boolean {
  // A subagent has the tools that its parent passes to it.
  if (parent !== undefined) return false
  if (Object.keys(options.mcpServers ?? {}).length > 0 || (setup.mcpServers ?? []).length > 0) return true
  // Synchronous, because every session checks this, and most have no such file.
  return lstatSync(join(root, '.mcp.json'), { throwIfNoEntry: false }) !== undefined
}
