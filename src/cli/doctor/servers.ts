import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config/index.js'
import { withheldFrom } from '../../mcp/describe-failure.js'
import { readMcpFile } from '../../mcp/mcp-file.js'
import { type McpServerSpec, readServer } from '../../mcp/server-options.js'
import { messageOf } from '../../tool/errors.js'
import type { Io } from '../io.js'
import type { ConfigPlace } from '../setup/workspace-config.js'
import type { Finding } from './check-machine.js'

/** Reports the MCP servers of the configuration and of `.mcp.json`, and which are confined. Starts none of them. */
export async function serverFindings(
  config: Pick<AgentConfig, 'mcpServers'>,
  place: ConfigPlace,
  io: Pick<Io, 'env'>,
  hasSandbox: boolean,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const given of config.mcpServers) findings.push(await found(given.name, () => readServer(given)))
  const file = await readMcpFile({ ...place, env: {} }).catch((error: unknown) => {
    findings.push({ area: 'mcp', state: 'warn', message: messageOf(error) })
  })
  if (file !== undefined && !file.confirmed)
    findings.push({
      area: 'mcp',
      state: 'warn',
      message: `${file.path} came with this directory and is not confirmed: its servers are not used`,
      hint: 'Read it, then confirm it with "capstan rules confirm mcp".',
    })
  for (const spec of file?.confirmed === true ? file.specs : [])
    findings.push(await found(spec.name, () => spec))
  return findings

  async function found(name: string, read: () => McpServerSpec): Promise<Finding> {
    try {
      return await findingOf(read(), place.root, io, hasSandbox)
    } catch (error) {
      return { area: 'mcp', state: 'fail', message: `${name}: ${messageOf(error)}` }
    }
  }
}

async function findingOf(
  { name, enabled, reach }: McpServerSpec,
  root: string,
  { env }: Pick<Io, 'env'>,
  hasSandbox: boolean,
): Promise<Finding> {
  if (!enabled) return { area: 'mcp', state: 'ok', message: `${name}: disabled` }
  if (reach.by === 'http')
    return { area: 'mcp', state: 'ok', message: `${name}: reached at ${reach.url.origin}` }
  const [command] = reach.argv
  const withheld = withheldFrom(reach)
  const how =
    withheld === undefined
      ? 'not confined: it can use the network and your home directory'
      : `confined to the workspace: the sandbox denies it ${withheld}`
  const message = `${name}: ${command}; ${how}`
  if (withheld !== undefined && !hasSandbox)
    return {
      area: 'mcp',
      state: 'fail',
      message: `${message}; it cannot start here without a sandbox`,
      hint: 'Install bubblewrap, or remove "sandbox" from its entry.',
    }
  if (!(await isFound(command, resolve(root, reach.cwd ?? '.'), reach.env?.['PATH'] ?? env['PATH'] ?? '')))
    return { area: 'mcp', state: 'fail', message: `${message}; the command is not on PATH` }
  return { area: 'mcp', state: 'ok', message }
}

async function isFound(command: string, cwd: string, path: string): Promise<boolean> {
  const places = command.includes('/')
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((directory) => resolve(cwd, directory, command))
  for (const place of places)
    if (
      await access(place, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return true
  return false
}
