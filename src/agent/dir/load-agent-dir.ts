import { realpathSync } from 'node:fs'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { AgentDir } from './agent-dir.js'

/** Options of {@link loadAgentDir}. */
export type LoadAgentDirOptions = {
  /** The variables that `${NAME}` and `env("NAME")` read (default: `process.env`). */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The workspace. If it is given, the scripts of the tools are checked too. */
  readonly workspace?: string
  /** The time zone of schedules that do not name one (default: UTC). */
  readonly timeZone?: string
  /** The names of the host's tools: scripts can be allowed to use them, and the directory cannot define them. */
  readonly toolNames?: readonly string[]
}

/**
 * Reads an agent directory without starting anything. Rejects with an {@link AgentDirError} that lists all problems,
 * each with its file and line.
 *
 * @example
 * const { schedules } = await loadAgentDir('release-agent')
 */
export async function loadAgentDir(dir: string, options: LoadAgentDirOptions = {}): Promise<AgentDir> {
  const { env = process.env, workspace, timeZone, toolNames } = options
  const { readAgentDir } = await import('./read-agent-dir.js')
  return readAgentDir(dir, {
    env,
    ...omitUndefined({
      workspace: workspace === undefined ? undefined : realpathSync.native(workspace),
      timeZone,
      hostTools: toolNames,
    }),
  }).dir
}
