import { realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseSkill, type SkillProblem } from '../../skills/parse-skill.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { visibleText } from '../../toolbox/untrusted-text.js'
import { isDirectory } from '../../workspace/find-files.js'
import { readFrontMatter } from '../../workspace/front-matter.js'
import { YamlError } from '../../workspace/yaml/errors.js'
import type { AgentConfig, McpServerConfig } from '../config/config.js'
import type { Environment } from '../config/reading.js'
import { describeConfig } from '../config/secrets.js'
import type { AgentDir, ScriptToolDefinition } from './agent-dir.js'
import { readConfigFile } from './config-file.js'
import { isTimeZone } from './cron.js'
import type { DirFile } from './dir-files.js'
import { digestOf, digestOfAll, readDirFiles } from './dir-files.js'
import { AgentDirError } from './errors.js'
import { Findings } from './findings.js'
import { readSchedules, type Schedule } from './schedule-files.js'
import { readTools } from './tool-files.js'

export type ReadAgentDirOptions = {
  readonly env: Environment
  readonly workspace?: string
  readonly timeZone?: string
  readonly hostTools?: readonly string[]
  readonly serverNames?: readonly string[]
}

/** An agent directory including its secrets: configuration and servers must not be shown. */
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

/**
 * Checks `skills/`, which sessions read themselves. Sessions ignore invalid skills and invalid fields of skills. No
 * user would notice that in a scheduled agent, so it is reported here.
 */
function checkSkills(files: readonly DirFile[], findings: Findings): string[] {
  const taken = new Map<string, string>()
  for (const { file, stem, text, folder, path } of files) {
    // Files that are not skills are allowed next to skills: those without front matter that are not the main file of a
    // folder.
    if (folder === undefined && !/^\ufeff?---[ \t]*\r?\n/.test(text)) continue
    try {
      const { skill, problems } = parseSkill(text, { source: 'directory', stem, path })
      const { lines } = readFrontMatter(text)
      for (const problem of problems) findings.add(file, lineOf(lines, problem), problem.message)
      const other = taken.get(skill.name)
      if (other !== undefined)
        findings.add(file, 1, `duplicate skill name: ${skill.name} (also in ${other}); rename one`)
      taken.set(skill.name, other ?? file)
    } catch (error) {
      const [line, problem] = error instanceof YamlError ? [error.line, error.problem] : [1, messageOf(error)]
      findings.add(file, line, `not a skill: ${problem}`)
    }
  }
  return [...taken.keys()]
}

/** The line of the field that a problem is about. */
function lineOf(lines: ReadonlyMap<string, number>, { field }: SkillProblem): number {
  return lines.get(field) ?? lines.get(field.replaceAll('-', '_')) ?? 1
}
