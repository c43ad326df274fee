import { serverLabel } from '../../mcp/names.js'
import type { Item } from '../config/acl/ast.js'
import { parseAcl } from '../config/acl/parse.js'
import type { AgentConfig } from '../config/config.js'
import { readConfig } from '../config/read-config.js'
import { type Environment, startReading } from '../config/reading.js'
import type { DirFile } from './dir-files.js'
import type { Findings } from './findings.js'

/**
 * Reads `agent.acl`. A variable that is not set is an error here, not a warning as in other configurations, because no
 * user watches a scheduled run.
 */
export function readConfigFile(
  { file, text }: DirFile,
  directory: string,
  env: Environment,
  hostServers: readonly string[],
  findings: Findings,
): AgentConfig | undefined {
  const { items, problems } = parseAcl(text)
  for (const { message, span } of problems) findings.add(file, span.line, message)
  if (problems.length > 0) return undefined
  const reading = startReading(env, directory)
  const config = readConfig(items, {
    ...reading,
    evaluate(call, spot) {
      const before = reading.problems.length + reading.warnings.length
      const value = reading.evaluate(call, spot)
      const [name] = call.args
      if (value !== undefined || reading.problems.length + reading.warnings.length === before) return value
      if (call.name !== 'env' || name?.type !== 'text') return value
      reading.warnings.pop()
      reading.fail(
        call.span === undefined ? spot : { ...spot, span: call.span },
        `${spot.path} has no value: the environment variable of env() is not set or empty`,
      )
      return value
    },
  })
  for (const { message, line = 1 } of reading.problems) findings.add(file, line, message)
  refuseServersOf(hostServers, config, (name, message) => findings.add(file, lineOf(name, items), message))
  findings.warnings.push(...reading.warnings.map((warning) => `${file}: ${warning}`))
  return reading.problems.length > 0 ? undefined : config
}

/** Rejects a server with the name of a host's server: it would get the permissions of that server. */
function refuseServersOf(
  hostServers: readonly string[],
  { mcpServers }: AgentConfig,
  fail: (name: string, message: string) => void,
): void {
  const taken = new Set(hostServers.map(serverLabel))
  for (const { name } of mcpServers) {
    const label = serverLabel(name)
    if (label !== undefined && taken.has(label))
      fail(
        name,
        `duplicate tool name: the tools of ${name} would be called mcp__${label}__*, like those of the host; rename it`,
      )
  }
}

function lineOf(server: string, items: readonly Item[]): number {
  const block = items.find((item) => item.type === 'block' && item.labels.some(({ text }) => text === server))
  return block?.span?.line ?? 1
}
