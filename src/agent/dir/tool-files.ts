import { serverLabel } from '../../mcp/names.js'
import { builtinToolNames } from '../../session/tool-names.js'
import { nearestNames, quoteNames } from '../../tool/nearest.js'
import type { McpServerConfig } from '../config/config.js'
import type { Environment } from '../config/reading.js'
import type { AgentDirTool, ScriptToolDefinition } from './agent-dir.js'
import type { DirFile } from './dir-files.js'
import { type FileFields, readFields } from './fields.js'
import type { Findings } from './findings.js'
import { readMcpTool } from './mcp-tool-file.js'
import { readScriptTool } from './script-tool-file.js'

export type ToolsOfDir = {
  readonly tools: readonly AgentDirTool[]
  readonly scripts: readonly ScriptToolDefinition[]
  /** The servers with the values of their variables, which must not be shown. */
  readonly servers: readonly McpServerConfig[]
  /** The values of the variables, which must not be shown. */
  readonly variables: readonly string[]
}

export type ToolFilesOptions = {
  readonly env: Environment
  /** The real path of the workspace with the scripts; without it, they are not checked. */
  readonly workspace?: string
  /** The tools of the host: the directory cannot use their names, and scripts can call them. */
  readonly hostTools: readonly string[]
  /** The names of MCP servers that are configured elsewhere. */
  readonly serverNames: readonly string[]
}

/** Reads `tools/*.md`. */
export function readTools(
  files: readonly DirFile[],
  options: ToolFilesOptions,
  findings: Findings,
): ToolsOfDir {
  const tools: AgentDirTool[] = []
  const scripts: ScriptToolDefinition[] = []
  const named: {
    readonly name: string
    readonly allowedTools: readonly string[]
    readonly fields: FileFields
  }[] = []
  const servers: McpServerConfig[] = []
  const variables = new Set<string>()
  const taken = new Map<string, string>()
  const labels = new Map(options.serverNames.map((name) => [serverLabel(name), 'the configuration']))
  for (const file of files) {
    const fields = readFields(file, findings)
    if (fields === undefined) continue
    const name = fields.text('name') ?? file.stem
    const other = taken.get(name)
    if (other !== undefined)
      fields.fail(`duplicate tool name: ${name} (also in ${other}); rename one`, fields.named('name'))
    taken.set(name, other ?? file.file)
    const kind = fields.all['kind']
    if (kind === 'mcp') {
      const server = readMcpTool(name, fields, options.env, variables)
      if (server === undefined) continue
      const label = serverLabel(name)
      const before = labels.get(label)
      if (before !== undefined && other === undefined)
        fields.fail(
          `duplicate tool name: the tools of ${name} would be called mcp__${label}__*, like those in ${before}; rename one`,
          fields.named('name'),
        )
      labels.set(label, file.file)
      const { transport, enabled = true } = server
      const description = fields.text('description') ?? fields.body
      servers.push(description === '' ? server : { ...server, description })
      tools.push({ kind, name, file: file.file, transport, enabled, description })
    } else if (kind === 'script') {
      const allowedTools = fields.texts('allowed_tools')
      // The name is checked even if the file has other problems, so that all are reported together.
      named.push({ name, allowedTools, fields })
      const tool = readScriptTool(name, allowedTools, fields, options.workspace)
      if (tool === undefined) continue
      scripts.push(tool)
      tools.push(tool)
    } else refuseKind(fields)
  }
  const names = named.map(({ name }) => name)
  for (const { fields, ...tool } of named) checkNames(tool, fields, names, options.hostTools)
  return { tools, servers, scripts, variables: [...variables] }
}

const kinds = ['mcp', 'script']

function refuseKind(fields: FileFields): void {
  const kind = fields.all['kind']
  if (kind === undefined || kind === null)
    return void fields.fail('missing kind: use kind: mcp or kind: script')
  const shown = typeof kind === 'string' ? ` '${kind.slice(0, 60)}'` : ''
  const near = typeof kind === 'string' ? nearestNames(kind, kinds) : []
  const hint = near.length > 0 ? `did you mean ${quoteNames(near)}?` : 'use kind: mcp or kind: script'
  fields.fail(`unknown kind${shown}: ${hint}`, 'kind')
}

/** Reports a name that another tool has, and allowed tools that do not exist, with which the script would fail. */
function checkNames(
  { name, allowedTools }: Pick<ScriptToolDefinition, 'name' | 'allowedTools'>,
  fields: FileFields,
  scripts: readonly string[],
  hostTools: readonly string[],
): void {
  const others = [...builtinToolNames, ...hostTools]
  if (others.includes(name) || name.startsWith('mcp__'))
    fields.fail(
      `duplicate tool name: ${name} is the name of another tool of the session; rename it`,
      fields.named('name'),
    )
  for (const allowed of allowedTools) {
    if (allowed === 'program' || scripts.includes(allowed))
      fields.fail(`allowed_tools has ${allowed}: a program cannot call a program`, 'allowed_tools', allowed)
    else if (!others.includes(allowed) && !allowed.startsWith('mcp__')) {
      const near = nearestNames(allowed, others)
      const hint = near.length > 0 ? `: did you mean ${quoteNames(near)}?` : ''
      fields.fail(
        `allowed_tools has an unknown tool '${allowed.slice(0, 60)}'${hint}`,
        'allowed_tools',
        allowed,
      )
    }
  }
}
