import { realpathSync } from 'node:fs'
import type { AgentDir } from './agent-dir.js'

export type LoadAgentDirOptions = {
  /** What `${NAME}` and `env("NAME")` look into; the environment of this process when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The workspace that it is to serve: the scripts of its tools are looked at, too. */
  readonly workspace?: string
  /** Of schedules that name none; UTC when left out. */
  readonly timeZone?: string
  /** The names of tools that the host adds: scripts may be allowed them, and none of their names may be taken. */
  readonly toolNames?: readonly string[]
}

/**
 * Reads an agent directory without starting anything. Rejects with an {@link AgentDirError} whose `problems` are all that is wrong
 * with it, each with file and line.
 *
 * @example
 * const { schedules } = await loadAgentDir('release-agent')
 */
export async function loadAgentDir(dir: string, options: LoadAgentDirOptions = {}): Promise<AgentDir> {
  const { env = process.env, workspace, timeZone, toolNames } = options
  const { readAgentDir } = await import('./read-agent-dir.js')
  return readAgentDir(dir, {
    env,
    ...(workspace !== undefined && { workspace: realpathSync.native(workspace) }),
    ...(timeZone !== undefined && { timeZone }),
    ...(toolNames !== undefined && { hostTools: toolNames }),
  }).dir
}
