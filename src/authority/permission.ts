/**
 * The names that rules are written for (a tool id, a capability, a tool of an MCP server, or everything) and what the
 * pattern after such a name matches.
 */

export type Permission =
  | { readonly kind: 'everything' }
  | { readonly kind: 'capability'; readonly name: string }
  | { readonly kind: 'tool'; readonly id: string }
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string }

/** What the pattern of a rule is compared with. `any`: every subject of the call. */
export type PatternLanguage = 'path' | 'command' | 'host' | 'any'

/** Parses a permission, or returns why it is invalid. */
export function parsePermission(text: string): Permission | { readonly problem: string } {
  if (text === '*') return { kind: 'everything' }
  if (text.startsWith('mcp:')) return parseMcp(text)
  if (/^[a-z][\w-]*(\.[\w-]+)+$/.test(text)) return { kind: 'capability', name: text }
  if (isToolId(text)) return { kind: 'tool', id: text }
  if (text.trim() !== text) return { problem: `the name ${JSON.stringify(text)} has spaces around it` }
  if (/[^\x20-\x7e]/.test(text))
    return {
      problem: `the name ${JSON.stringify(text)} has characters that only look like letters of a tool id`,
    }
  return {
    problem: `${JSON.stringify(text)} is neither a tool id, a capability, "mcp:<server>:<tool>" nor "*"`,
  }
}

/**
 * Returns whether a text is a tool id: only letters, digits, `_` and `-`, so that look-alikes and spaces cannot confuse
 * ids (SEC-048).
 */
export function isToolId(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_-]{0,127}$/.test(text)
}

/**
 * Returns the spelling of a built-in tool: `Bash` means `bash`, because a rule that silently matches nothing would be
 * worse than none. Other names are unchanged; `Skill` and `skill` are different.
 */
export function spelledAsBuiltin(name: string): string {
  const lower = name.toLowerCase()
  return builtinIds.has(lower) ? lower : name
}

const builtinIds: ReadonlySet<string> = new Set(
  (
    'read write edit patch grep glob ls bash git batch todo question web_fetch web_search program task parallel_task ' +
    'generate_object search_skills tool_search'
  ).split(' '),
)

/** Returns the server and the tool in the id of an MCP tool. */
export function mcpOfToolId(id: string): { readonly server: string; readonly tool: string } | undefined {
  const found = /^mcp__(.+?)__(.+)$/.exec(id)
  return found === null ? undefined : { server: found[1] ?? '', tool: found[2] ?? '' }
}

export function languageOf(permission: Permission): PatternLanguage {
  if (permission.kind === 'capability') return capabilityLanguages[permission.name] ?? 'any'
  if (permission.kind !== 'tool') return 'any'
  const capability =
    boundCapability(permission.id) ?? (permission.id === 'web_search' ? 'net.fetch' : undefined)
  return capability === undefined ? 'any' : (capabilityLanguages[capability] ?? 'any')
}

/**
 * Returns the capability to which a restriction on this tool extends: a file that is denied to `read` is also denied
 * to `cat`. Permissions never extend like that.
 */
export function boundCapability(toolId: string): string | undefined {
  return boundCapabilities.get(toolId)
}

/** The capabilities among which the nearest spelling is suggested. */
export const knownCapabilities = [
  'fs.read',
  'fs.write',
  'shell.run',
  'net.fetch',
  'memory.read',
  'memory.write',
  'schedule.wake',
  'secrets.has',
  'stream.send',
] as const

const capabilityLanguages: Readonly<Record<string, PatternLanguage>> = {
  'fs.read': 'path',
  'fs.write': 'path',
  'shell.run': 'command',
  'net.fetch': 'host',
}

const boundCapabilities: ReadonlyMap<string, string> = new Map([
  ...['read', 'grep', 'glob', 'ls'].map((id) => [id, 'fs.read'] as const),
  ...['write', 'edit', 'patch', 'apply_patch', 'multi_edit'].map((id) => [id, 'fs.write'] as const),
  ['bash', 'shell.run'],
  ['web_fetch', 'net.fetch'],
])

function parseMcp(text: string): Permission | { readonly problem: string } {
  const [, server = '', tool = '*', ...more] = text.split(':')
  const label = /^[A-Za-z0-9_.*-]+$/
  if (more.length > 0 || !label.test(server) || !label.test(tool))
    return { problem: `${JSON.stringify(text)} is not of the form "mcp:<server>:<tool>"` }
  return { kind: 'mcp', server, tool }
}
