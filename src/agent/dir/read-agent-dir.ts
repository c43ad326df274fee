import { realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { visibleText } from '../../toolbox/untrusted-text.js'
import { isDirectory } from '../../workspace/find-files.js'
import type { AgentConfig, McpServerConfig } from '../config/config.js'
import type { Environment } from '../config/reading.js'
import { describeConfig } from '../config/secrets.js'
import type { AgentDir, ScriptToolDefinition } from './agent-dir.js'
import { readConfigFile } from './config-file.js'
import { isTimeZone } from './cron.js'
import { digestOf, digestOfAll, readDirFiles } from './dir-files.js'
import { AgentDirError } from './errors.js'
import { Findings } from './findings.js'
import { readSchedules, type Schedule } from './schedule-files.js'
import { checkSkills } from './skill-files.js'
import { readTools } from './tool-files.js'

export type ReadAgentDirOptions = {
  readonly env: Environment
  readonly workspace?: string
  readonly timeZone?: string
  readonly hostTools?: readonly string[]
  readonly serverNames?: readonly string[]
}

/** An agent directory, with its secrets: configuration and servers must not be shown. */
export type ReadAgentDir = {
  readonly dir: AgentDir
  readonly config?: AgentConfig
  readonly skillDir?: string
  readonly servers: readonly McpServerConfig[]
  /** The values of `${NAME}` in its tools. */
  readonly variables: readonly string[]
  readonly scripts: readonly ScriptToolDefinition[]
  readonly schedules: readonly Schedule[]
  /** Changes with any file of the directory. */
  readonly digest: string
  /** Changes with any file except the schedules. */
  readonly sharedDigest: string
}

/** Reads a whole agent directory. Throws {@link AgentDirError} with all its problems. */
export function readAgentDir(directory: string, options: ReadAgentDirOptions): ReadAgentDir {
  const { env, timeZone = 'UTC', workspace } = options
  if (!isTimeZone(timeZone))
    throw new TypeError(`timeZone must be a name such as Europe/Berlin or UTC, not '${timeZone}'.`)
  const findings = new Findings()
  if (!isDirectory(directory))
    throw new AgentDirError(directory, [
      { file: '.', line: 1, message: 'the directory does not exist or cannot be read' },
    ])
  const path = realpathSync.native(directory)
  const files = readDirFiles(path, findings)
  const instructions = visibleText(files.instructions?.text ?? '').trim()
  if (instructions === '' && findings.list().every(({ file }) => file !== 'instructions.md'))
    findings.add(
      'instructions.md',
      1,
      files.instructions === undefined
        ? 'the file is missing: describe in it the role of the agent'
        : 'the file is empty: describe in it the role of the agent',
    )
  const config = files.config && readConfigFile(files.config, path, env, options.serverNames ?? [], findings)
  const schedules = readSchedules(files.schedules, timeZone, findings)
  const serverNames = [...(options.serverNames ?? []), ...(config?.mcpServers ?? []).map(({ name }) => name)]
  const hostTools = options.hostTools ?? []
  const toolOptions = { env, hostTools, serverNames, ...omitUndefined({ workspace }) }
  const { tools, scripts, servers, variables } = readTools(files.tools, toolOptions, findings)
  const skills = checkSkills(files.skills, findings)
  const problems = findings.list()
  if (problems.length > 0) throw new AgentDirError(directory, problems)
  return {
    dir: {
      path,
      name: basename(path),
      instructions,
      ...omitUndefined({ config: config && describeConfig(config) }),
      skills,
      schedules: schedules.map(({ definition }) => definition),
      tools,
      warnings: findings.warnings,
    },
    ...omitUndefined({ config, skillDir: files.skills.length > 0 ? join(path, 'skills') : undefined }),
    servers,
    variables,
    scripts,
    schedules,
    digest: digestOfAll(files),
    sharedDigest: digestOf([files.instructions, files.config, ...files.tools, ...files.skills]),
  }
}

/** The digest of an agent directory, to detect changes; undefined if it is not a directory. */
export function digestOfDir(path: string): string | undefined {
  return isDirectory(path) ? digestOfAll(readDirFiles(realpathSync.native(path), new Findings())) : undefined
}
