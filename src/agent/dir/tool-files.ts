import { serverLabel } from '../../mcp/names.js'
import { builtinToolNames } from '../../session/builtin-tools.js'
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
  /** With what variables stood for: never to be shown. */
  readonly servers: readonly McpServerConfig[]
  /** What variables stood for: never to be shown, either. */
  readonly variables: readonly string[]
}

export type ToolFilesOptions = {
  readonly env: Environment
  /** The real path of the workspace that scripts lie in; absent: they are not looked at. */
  readonly workspace?: string
  /** Tools that a host adds: no name of theirs may be taken, and scripts may call them. */
  readonly hostTools: readonly string[]
  /** MCP servers that are configured elsewhere. */
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
          `duplicate tool name: the tools of ${name} would be called mcp__${label}__*, as those in ${before}; rename one`,
          fields.named('name'),
        )
      labels.set(label, file.file)
      const { transport, enabled = true } = server
      const description = fields.text('description') ?? fields.body
      servers.push(description === '' ? server : { ...server, description })
      tools.push({ kind, name, file: file.file, transport, enabled, description })
    } else if (kind === 'script') {
      const allowedTools = fields.texts('allowed_tools')
      // Whatever else is wrong with it: all of it is told at once.
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
    return void fields.fail('missing kind: a tool is of kind: mcp or of kind: script')
  const said = typeof kind === 'string' ? ` '${kind.slice(0, 60)}'` : ''
  const near = typeof kind === 'string' ? nearestNames(kind, kinds) : []
  const hint =
    near.length > 0 ? `did you mean ${quoteNames(near)}?` : 'a tool is of kind: mcp or of kind: script'
  fields.fail(`unknown kind${said}: ${hint}`, 'kind')
}

/** A name that is taken would change what another tool does; a tool that nobody has would fail the script at its first call. */
function checkNames(
  { name, allowedTools }: Pick<ScriptToolDefinition, 'name' | 'allowedTools'>,
  fields: FileFields,
  scripts: readonly string[],
  hostTools: readonly string[],
): void {
  const others = [...builtinToolNames(), ...hostTools]
  if (others.includes(name) || name.startsWith('mcp__'))
    fields.fail(
      `duplicate tool name: ${name} is the name of another tool of the session; rename it`,
      fields.named('name'),
    )
  for (const allowed of allowedTools) {
    if (allowed === 'program' || scripts.includes(allowed))
      fields.fail(`allowed_tools names ${allowed}: a program cannot call a program`, 'allowed_tools', allowed)
    else if (!others.includes(allowed) && !allowed.startsWith('mcp__')) {
      const near = nearestNames(allowed, others)
      const hint = near.length > 0 ? `: did you mean ${quoteNames(near)}?` : ''
      fields.fail(
        `allowed_tools names '${allowed.slice(0, 60)}', which no tool is called${hint}`,
        'allowed_tools',
        allowed,
      )
    }
  }
}
